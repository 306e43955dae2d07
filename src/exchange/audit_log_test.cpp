#include "exchange/audit_log.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "exchange/exchange_testing.h"

namespace zkapex {
namespace {

using testing::fixed_key;
using testing::log_key;
using testing::made_up_digest;
using testing::MemoryLogStore;
using testing::refusal;
using testing::TestFolder;

class ReadLogTest : public ::testing::Test {
 protected:
  // What is queued, and as many entries that are no statements, as a log on disk.
  void write(size_t more) {
    for (size_t k = 0; k < more; ++k) store_.queue(fmt::format("filler {}", k));
    Result<Sequencer> sequencer =
        Sequencer::open(store_, fixed_key(1), {.folder = folder_.path(), .origin = "example.com/log"});
    ASSERT_TRUE(sequencer.ok()) << refusal(sequencer);
    ASSERT_TRUE(sequencer->run().ok());
  }
  Result<LogReading> read(const Note* known = nullptr) { return read_log(tiles_, policy_, known); }
  Note checkpoint() { return *read_checkpoint(tiles_); }

  TestFolder folder_{"read-log"};
  MemoryLogStore store_;
  TileFolder tiles_{folder_.path()};
  Policy policy_ = Policy::of_log(log_key("example.com/log", fixed_key(1)));
};

TEST_F(ReadLogTest, EveryTileIsLookedAt) {
  store_.queue(sign_envelope(testing::sample_deployment().encode(), fixed_key(2))->encode());
  write(520);
  const Result<LogReading> reading = read();
  ASSERT_TRUE(reading.ok()) << refusal(reading);
  EXPECT_EQ(reading->broken, "");
  EXPECT_EQ(reading->audit->finding_count(), 520U);
  for (const TileName& name : tiles_of_tree(521)) {
    const Path path = folder_.path() / name.path();
    const Bytes whole = *read_file(path, kMaxEntriesTileBytes);
    Bytes bad = whole;
    bad[bad.size() - 1] ^= 1;
    ASSERT_TRUE(write_file(path, bad, {.overwrite = true}).ok());
    const Result<LogReading> again = read();
    ASSERT_TRUE(again.ok());
    EXPECT_NE(again->broken, "") << name.path();
    ASSERT_TRUE(write_file(path, whole, {.overwrite = true}).ok());
  }
  std::filesystem::remove(folder_.path() / "tile/1/000.p/2");
  EXPECT_EQ(refusal(read()), "the log has no tile/1/000.p/2") << "cannot be read";
}

TEST_F(ReadLogTest, TheEntriesLeadToTheRoot) {
  write(3);
  const Note other =
      *sign_checkpoint({.origin = "example.com/log", .size = 3, .root = made_up_digest("x")}, fixed_key(1));
  ASSERT_TRUE(write_file(folder_.path() / "checkpoint", view(other.encode()), {.overwrite = true}).ok());
  EXPECT_NE(read()->broken.find("do not lead to the root"), std::string::npos);
}

TEST_F(ReadLogTest, TheCheckpointIsSignedAndContinuesTheOneThatWasKnown) {
  write(3);
  const Note before = checkpoint();
  write(4);
  EXPECT_EQ(read(&before)->broken, "");
  const Note forked =
      *sign_checkpoint({.origin = "example.com/log", .size = 2, .root = made_up_digest("x")}, fixed_key(1));
  EXPECT_NE(read(&forked)->broken.find("forked"), std::string::npos);
  const Note longer =
      *sign_checkpoint({.origin = "example.com/log", .size = 8, .root = made_up_digest("x")}, fixed_key(1));
  EXPECT_NE(refusal(read(&longer)).find("has 8 entries"), std::string::npos);
  policy_ = Policy::of_log(log_key("example.com/log", fixed_key(9)));
  EXPECT_NE(read()->broken.find("no log of the policy"), std::string::npos);
  std::filesystem::remove(folder_.path() / "checkpoint");
  EXPECT_NE(refusal(read()).find("no log"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
