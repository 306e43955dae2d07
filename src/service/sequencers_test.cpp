// Several sequencers on one store, as when an operator starts a second one on another machine: one log.
#include <latch>
#include <thread>

#include "base/result_testing.h"
#include "log/sequencer.h"
#include "service/store_rows.h"
#include "service/store_testing.h"

namespace zkapex {
namespace {

using testing::OnBothEngines;
using testing::refusal;

class SequencersTest : public OnBothEngines {
 protected:
  [[nodiscard]] SequencerSettings settings(const std::string& name) const {
    return {.folder = folder_ / name, .origin = "example.com/log"};
  }
  // Rounds in a folder of its own, until the log has that many entries. One that opens the log when the other has
  // signed has no tiles of that and is refused, so all open first.
  void run(const std::string& name, uint64_t until, std::latch& opened) {
    Store store = connect();
    LogTables tables(store.database());
    auto sequencer = Sequencer::open(tables, key_, settings(name));
    opened.arrive_and_wait();
    ASSERT_TRUE(sequencer.ok()) << refusal(sequencer);
    for (int round = 0; round < 10'000; ++round) {
      const auto done = sequencer->run();
      ASSERT_TRUE(done.ok()) << refusal(done);
      if (done->published == until) return;
    }
    ADD_FAILURE() << "there is no end of it";
  }
  [[nodiscard]] std::string checkpoint(const std::string& name) const {
    const auto bytes = read_file(folder_ / name / "checkpoint", kMaxNoteBytes);
    return bytes.ok() ? std::string(bytes->begin(), bytes->end()) : refusal(bytes);
  }

  SigningKey key_ = *SigningKey::generate();
};
ZKAPEX_ON_BOTH_ENGINES(SequencersTest);

TEST_P(SequencersTest, KeepOneLogWithoutAGap) {
  constexpr int kEntries = 300;
  Store store = connect();
  std::vector<std::thread> threads;
  std::latch both(2), alone(1);
  for (const char* name : {"one", "two"}) threads.emplace_back([&, name] { run(name, kEntries, both); });
  for (int k = 0; k < kEntries; ++k) {
    const auto queued = transact(store.database(), [&] { return queue_entry(store.database(), {uint8_t(k), 1}); });
    ASSERT_TRUE(queued.ok()) << refusal(queued);
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(checkpoint("one"), checkpoint("two"));
  const auto entries = LogTables(store.database()).entries(0, kEntries);
  ASSERT_TRUE(entries.ok()) << refusal(entries);
  EXPECT_EQ(*count_of(store.database(), "SELECT COUNT(*) FROM entries WHERE place IS NULL", {}), 0U);
  EXPECT_EQ(*count_of(store.database(), "SELECT COUNT(DISTINCT place) FROM entries", {}), uint64_t{kEntries});
  // A third one that has only what one of them has written goes on with it.
  run("one", kEntries, alone);
}

}  // namespace
}  // namespace zkapex
