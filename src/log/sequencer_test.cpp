#include <gtest/gtest.h>

#include <fstream>

#include "base/result_testing.h"
#include "log/log_testing.h"
#include "log/receipt.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::log_key;
using testing::MemoryLogStore;
using testing::post_to;
using testing::refusal;
using testing::TestFolder;
using testing::TestWitness;

constexpr const char* kOrigin = "example.com/log";

std::string entry_text(size_t k) { return fmt::format("entry {}", k); }

class SequencerTest : public ::testing::Test {
 protected:
  void queue(size_t count) {
    for (size_t k = 0; k < count; ++k) store_.queue(entry_text(queued_++));
  }
  SequencerSettings settings() { return {.folder = folder_.path() / "log", .origin = kOrigin}; }
  Result<Sequencer> open() { return Sequencer::open(store_, fixed_key(1), settings()); }
  // Opens, runs and closes again.
  Result<SequencerRound> round() {
    Result<Sequencer> sequencer = open();
    if (!sequencer) return sequencer.error();
    return sequencer->run();
  }
  TreeHead published() { return published_in(folder_.path() / "log"); }
  static TreeHead published_in(const Path& folder) {
    TileFolder tiles(folder);
    const auto bytes = tiles.read("checkpoint", kMaxNoteBytes);
    if (!bytes || !*bytes) return {};
    const auto note = Note::parse(std::string((*bytes)->begin(), (*bytes)->end()));
    return *open_checkpoint(*note, log_key(kOrigin, fixed_key(1)));
  }
  // Every tile of the published tree is there, and all together are the entries that were queued, each once.
  static void expect_whole(const Path& folder, size_t entries) {
    const TreeHead head = published_in(folder);
    EXPECT_EQ(head.size, entries);
    TileFolder tiles(folder);
    std::vector<TreeHash> leaves;
    for (size_t k = 0; k < entries; ++k) leaves.push_back(leaf_hash(view(entry_text(k))));
    EXPECT_EQ(head.root, tree_hash(leaves));
    for (const TileName& name : tiles_of_tree(entries)) {
      if (!name.level) {
        const auto read = read_entries(tiles, name);
        ASSERT_TRUE(read.ok()) << refusal(read);
        for (size_t k = 0; k < read->size(); ++k) EXPECT_EQ(leaf_hash((*read)[k]), leaves[kTileWidth * name.index + k]);
        continue;
      }
      const auto read = read_hashes(tiles, name);
      ASSERT_TRUE(read.ok()) << refusal(read);
      const size_t each = size_t{1} << (8 * *name.level);
      for (size_t k = 0; k < read->size(); ++k)
        EXPECT_EQ((*read)[k], tree_hash(std::span(leaves).subspan((kTileWidth * name.index + k) * each, each)));
    }
  }
  void expect_whole(size_t entries) { expect_whole(folder_.path() / "log", entries); }

  TestFolder folder_{"sequencer"};
  MemoryLogStore store_;
  size_t queued_ = 0;
};

TEST_F(SequencerTest, AnEmptyLogHasACheckpoint) {
  const auto done = round();
  ASSERT_TRUE(done.ok()) << refusal(done);
  EXPECT_EQ(published().root, empty_tree_hash());
  EXPECT_EQ(store_.checkpoints.size(), 1U);
}

TEST_F(SequencerTest, GrowsInAnySteps) {
  size_t all = 0;
  for (const size_t step : {1, 2, 250, 3, 1, 255, 256, 300, 0, 700}) {
    queue(step);
    all += step;
    const auto done = round();
    ASSERT_TRUE(done.ok()) << refusal(done);
    EXPECT_EQ(done->placed, step);
    EXPECT_EQ(done->size, all);
    EXPECT_EQ(done->published, all);
    expect_whole(all);
  }
}

TEST_F(SequencerTest, OneSequencerRunsManyRoundsOfLimitedLength) {
  SequencerSettings few = settings();
  few.most = 100;
  Result<Sequencer> sequencer = Sequencer::open(store_, fixed_key(1), few);
  ASSERT_TRUE(sequencer.ok());
  queue(650);
  for (int k = 0; k < 7; ++k) ASSERT_TRUE(sequencer->run().ok());
  expect_whole(650);
  EXPECT_EQ(sequencer->run()->placed, 0U);
}

TEST_F(SequencerTest, AFullTileIsNotWrittenAgain) {
  queue(256);
  ASSERT_TRUE(round().ok());
  const Path tile = folder_.path() / "log/tile/0/000", entries = folder_.path() / "log/tile/entries/000";
  const auto long_ago = std::filesystem::file_time_type::clock::now() - std::chrono::hours(1);
  std::filesystem::last_write_time(tile, long_ago);
  std::filesystem::last_write_time(entries, long_ago);
  queue(300);
  ASSERT_TRUE(round().ok());
  EXPECT_EQ(std::filesystem::last_write_time(tile), long_ago);
  EXPECT_EQ(std::filesystem::last_write_time(entries), long_ago);
  expect_whole(556);
}

struct Killed {};

TEST_F(SequencerTest, KilledBetweenAnyTwoChangesTheNextGoesOn) {
  queue(250);
  ASSERT_TRUE(round().ok());
  size_t all = 250, kills = 0;
  for (int at = 1; at < 40; ++at) {
    queue(256);
    all += 256;
    int changes = 0;
    SequencerSettings deadly = settings();
    deadly.between_changes = [&] {
      if (++changes == at) throw Killed();
    };
    try {
      Result<Sequencer> sequencer = Sequencer::open(store_, fixed_key(1), deadly);
      ASSERT_TRUE(sequencer.ok()) << refusal(sequencer);
      ASSERT_TRUE(sequencer->run().ok());
    } catch (const Killed&) {
      ++kills;
      EXPECT_LE(published().size, all);
    }
    const auto done = round();
    ASSERT_TRUE(done.ok()) << refusal(done);
    expect_whole(all);
    if (changes < at) break;  // the whole round has fewer changes
  }
  EXPECT_GE(kills, 8U) << "places, four tiles, one above them, signature, publication";
}

TEST_F(SequencerTest, TwoOnOneFolderAreNotPossible) {
  const Result<Sequencer> first = open();
  ASSERT_TRUE(first.ok());
  EXPECT_FALSE(open().ok());
}

TEST_F(SequencerTest, TwoOnOneDatabaseDoNotForkTheLog) {
  SequencerSettings other = settings();
  other.folder = folder_.path() / "other";
  Result<Sequencer> first = open(), second = Sequencer::open(store_, fixed_key(1), other);
  ASSERT_TRUE(first.ok() && second.ok());
  queue(10);
  ASSERT_TRUE(first->run().ok());
  ASSERT_TRUE(second->run().ok());
  // The second has looked at the size and the queue when the first places its entries.
  queue(20);
  store_.before_place = [&] { ASSERT_TRUE(first->run().ok()); };
  const auto late = second->run();
  ASSERT_TRUE(late.ok()) << refusal(late);
  EXPECT_EQ(late->placed, 0U);
  queue(5);
  ASSERT_TRUE(second->run().ok());
  ASSERT_TRUE(first->run().ok());
  expect_whole(folder_.path() / "log", 35);
  expect_whole(folder_.path() / "other", 35);
}

TEST_F(SequencerTest, AnotherNoteOfTheSameSizeStopsIt) {
  queue(3);
  Result<Sequencer> sequencer = open();
  ASSERT_TRUE(sequencer.ok());
  const TreeHead other{.origin = kOrigin, .size = 3, .root = leaf_hash(view("other"))};
  store_.checkpoints[3] = sign_checkpoint(other, fixed_key(1))->encode();
  EXPECT_NE(refusal(sequencer->run()).find("would fork"), std::string::npos);
  EXPECT_EQ(published().size, 0U);
}

TEST_F(SequencerTest, ATornTileIsNoticed) {
  queue(300);
  ASSERT_TRUE(round().ok());
  const Path tile = folder_.path() / "log/tile/0/001.p/44";
  const Bytes whole = *read_file(tile, 10'000);
  std::filesystem::resize_file(tile, 40);
  EXPECT_NE(refusal(open()).find("not those of the last checkpoint"), std::string::npos);
  Bytes changed = whole;
  changed[100] ^= 1;
  ASSERT_TRUE(write_file(tile, changed, {.overwrite = true}).ok());
  EXPECT_NE(refusal(open()).find("do not lead to the root"), std::string::npos);
  std::filesystem::remove(tile);
  EXPECT_NE(refusal(open()).find("not those of the last checkpoint"), std::string::npos);
  ASSERT_TRUE(write_file(tile, whole).ok());
  EXPECT_TRUE(open().ok());
}

TEST_F(SequencerTest, ADatabaseOfYesterdayIsNoticed) {
  queue(300);
  ASSERT_TRUE(round().ok());
  const MemoryLogStore yesterday = store_;
  queue(50);
  ASSERT_TRUE(round().ok());
  store_ = yesterday;
  // The tiles of size 300 are still there: only the published checkpoint tells.
  EXPECT_NE(refusal(open()).find("350 entries was published"), std::string::npos);
}

TEST_F(SequencerTest, AnEmptyDatabaseIsNoticed) {
  queue(3);
  ASSERT_TRUE(round().ok());
  store_ = MemoryLogStore();
  EXPECT_NE(refusal(open()).find("database has none"), std::string::npos);
}

TEST_F(SequencerTest, ADatabaseThatLostEntriesIsNoticed) {
  queue(3);
  ASSERT_TRUE(round().ok());
  auto checkpoints = store_.checkpoints;
  store_ = MemoryLogStore();
  store_.checkpoints = checkpoints;
  EXPECT_NE(refusal(open()).find("something older was restored"), std::string::npos);
}

TEST_F(SequencerTest, AFolderOfYesterdayIsNoticed) {
  queue(300);
  ASSERT_TRUE(round().ok());
  std::filesystem::copy(folder_.path() / "log", folder_.path() / "backup", std::filesystem::copy_options::recursive);
  queue(50);
  ASSERT_TRUE(round().ok());
  std::filesystem::remove_all(folder_.path() / "log");
  std::filesystem::rename(folder_.path() / "backup", folder_.path() / "log");
  EXPECT_NE(refusal(open()).find("not those of the last checkpoint"), std::string::npos);
}

TEST_F(SequencerTest, APublishedForkIsNoticed) {
  queue(10);
  ASSERT_TRUE(round().ok());
  const TreeHead other{.origin = kOrigin, .size = 5, .root = leaf_hash(view("other"))};
  const std::string forged = sign_checkpoint(other, fixed_key(1))->encode();
  ASSERT_TRUE(write_file(folder_.path() / "log/checkpoint", view(forged), {.overwrite = true}).ok());
  EXPECT_NE(refusal(open()).find("not one of this log"), std::string::npos);
}

TEST_F(SequencerTest, AnotherKeyDoesNotGoOn) {
  queue(3);
  ASSERT_TRUE(round().ok());
  EXPECT_FALSE(Sequencer::open(store_, fixed_key(2), settings()).ok());
}

TEST_F(SequencerTest, AnEntryThatIsTooLongStopsTheRound) {
  store_.queue(Bytes(65'536));
  EXPECT_NE(refusal(round()).find("65536 bytes"), std::string::npos);
}

class WitnessedSequencerTest : public SequencerTest {
 protected:
  SequencerSettings witnessed(size_t cosignatures) {
    SequencerSettings out = settings();
    out.witnesses = {one_.address(), two_.address()};
    out.cosignatures = cosignatures;
    out.post = post_;
    return out;
  }
  Result<SequencerRound> witnessed_round(size_t cosignatures) {
    Result<Sequencer> sequencer = Sequencer::open(store_, fixed_key(1), witnessed(cosignatures));
    if (!sequencer) return sequencer.error();
    return sequencer->run();
  }

  TestWitness one_{"w1.example", 11, log_key(kOrigin, fixed_key(1))},
      two_{"w2.example", 12, log_key(kOrigin, fixed_key(1))};
  HttpPost post_ = post_to({&one_, &two_});
};

TEST_F(WitnessedSequencerTest, PublishesWithCosignatures) {
  const Policy policy = *Policy::parse(fmt::format("log {}\nwitness a {}\nwitness b {}\ngroup g all a b\nquorum g\n",
                                                   log_key(kOrigin, fixed_key(1)).vkey(), one_.address().key.vkey(),
                                                   two_.address().key.vkey()));
  for (const size_t step : {5, 300, 7}) {
    queue(step);
    const auto done = witnessed_round(2);
    ASSERT_TRUE(done.ok()) << refusal(done);
    EXPECT_TRUE(done->troubles.empty()) << done->troubles[0];
    EXPECT_EQ(one_.size, queued_);
    TileFolder tiles(folder_.path() / "log");
    const Bytes file = **tiles.read("checkpoint", kMaxNoteBytes);
    const Note note = *Note::parse(std::string(file.begin(), file.end()));
    EXPECT_TRUE(policy.open(note).ok()) << refusal(policy.open(note));
    EXPECT_TRUE(check_receipt(*make_receipt(tiles, 2, note), view(entry_text(2)), policy).ok());
  }
}

TEST_F(WitnessedSequencerTest, WaitsForTheCosignaturesThatAreAskedFor) {
  queue(5);
  ASSERT_TRUE(witnessed_round(2).ok());
  post_ = post_to({&one_});
  queue(5);
  auto done = witnessed_round(2);
  ASSERT_TRUE(done.ok()) << refusal(done);
  EXPECT_EQ(done->size, 10U);
  EXPECT_EQ(done->published, 5U);
  EXPECT_EQ(published().size, 5U);
  EXPECT_EQ(done->troubles.size(), 2U);
  done = witnessed_round(1);
  EXPECT_EQ(done->published, 10U);
  EXPECT_EQ(done->troubles.size(), 1U) << "the other witness is asked, and its silence is told";
  post_ = post_to({&one_, &two_});
  queue(1);
  EXPECT_EQ(witnessed_round(2)->published, 11U) << "a witness that was away catches up";
  EXPECT_FALSE(witnessed_round(3).ok());
}

TEST_F(WitnessedSequencerTest, AWitnessThatIsAheadStopsARestoredLog) {
  queue(300);
  ASSERT_TRUE(witnessed_round(2).ok());
  const MemoryLogStore yesterday = store_;
  std::filesystem::copy(folder_.path() / "log", folder_.path() / "backup", std::filesystem::copy_options::recursive);
  queue(50);
  ASSERT_TRUE(witnessed_round(2).ok());
  // Database and folder are those of yesterday: nothing on this machine could tell.
  store_ = yesterday;
  std::filesystem::remove_all(folder_.path() / "log");
  std::filesystem::rename(folder_.path() / "backup", folder_.path() / "log");
  EXPECT_NE(refusal(witnessed_round(2)).find("contradicts this log"), std::string::npos);
  // Not even when the log has grown beyond what the witness saw.
  for (int k = 0; k < 100; ++k) store_.queue(fmt::format("another {}", k));
  EXPECT_NE(refusal(witnessed_round(2)).find("contradicts this log"), std::string::npos);
}

TEST_F(WitnessedSequencerTest, AWitnessOfAnotherTreeStopsIt) {
  queue(300);
  ASSERT_TRUE(witnessed_round(2).ok());
  two_.root = leaf_hash(view("other"));
  queue(1);
  EXPECT_NE(refusal(witnessed_round(2)).find("does not continue"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
