// How often a client may do what costs the provider disk, or an entry of the log.
#include "base/result_testing.h"
#include "service/store_rows.h"
#include "service/store_testing.h"

namespace zkapex {
namespace {

using testing::OnBothEngines;
using testing::refusal;

class StoreLimitsTest : public OnBothEngines {
 protected:
  StoreLimitsTest() : store_(connect()) {}

  std::string announced(Announcement wanted, UnixTime now) {
    wanted.signer = key_of(key_).id;
    const auto taken = store_.announce(wanted, now);
    return taken.ok() ? std::string(name(taken->refusal)) : refusal(taken);
  }
  // Of the client c1, whose key number `number` is called after it.
  std::string rotated(int number, UnixTime now) {
    const std::string next = fmt::format("c1 {}", number);
    const auto taken = store_.rotate_key("c1", key_of(key_).id, static_cast<uint64_t>(number), key_of(next),
                                         bytes_of("rotation"), now);
    if (taken.ok() && taken->refusal == Refusal::kNone) key_ = next;
    return taken.ok() ? std::string(name(taken->refusal)) : refusal(taken);
  }
  static Announcement proof(int number) {
    return announcement(DeliveryKind::kSubmission, "c1", fmt::format("proof {}", number), "w1");
  }
  static Announcement update(int number) {
    return announcement(DeliveryKind::kUpdate, "c1", fmt::format("update {}", number));
  }

  Store store_;
  std::string key_ = "c1";
};
ZKAPEX_ON_BOTH_ENGINES(StoreLimitsTest);

TEST_P(StoreLimitsTest, AClientTriesSoOften) {
  registered(store_, "c1");
  ASSERT_EQ(name(store_.publish_window(window("w1"))->refusal), "none");
  sequence(store_);
  for (int k = 0; k < 32; ++k) ASSERT_EQ(announced(proof(k), 200), "none");
  EXPECT_EQ(announced(proof(32), 200), "too-many");
  // Updates so many in a day.
  for (int k = 0; k < 256; ++k) ASSERT_EQ(announced(update(k), 2000), "none");
  EXPECT_EQ(announced(update(256), 2000 + 86'399), "too-many");
  EXPECT_EQ(announced(update(256), 2000 + 86'400), "none");
}

TEST_P(StoreLimitsTest, SoManyKeysInADay) {
  enrol(store_, "c1");
  for (int k = 1; k <= 255; ++k) ASSERT_EQ(rotated(k, 20), "none") << k;
  EXPECT_EQ(rotated(256, 20), "too-many");
  EXPECT_EQ(rotated(256, 1 + 86'400), "too-many");
  EXPECT_EQ(rotated(256, 20 + 86'400), "none");
}

// What the old key announced counts, although it is forgotten; but for what the new one announces again.
TEST_P(StoreLimitsTest, ANewKeyStartsNoNewDay) {
  registered(store_, "c1");
  for (int k = 0; k < 256; ++k) ASSERT_EQ(announced(update(k), 2000), "none");
  ASSERT_EQ(rotated(1, 2001), "none");
  EXPECT_EQ(announced(update(256), 2002), "too-many");
  for (int k = 0; k < 2; ++k) EXPECT_EQ(announced(update(k), 2003), "none") << k;
  EXPECT_EQ(announced(update(256), 2004), "too-many");
  ASSERT_EQ(rotated(2, 2005), "none");
  EXPECT_EQ(announced(update(0), 2006), "none");
  EXPECT_EQ(announced(update(256), 2000 + 86'399), "too-many");
  const auto kept = [&] { return *count_of(store_.database(), "SELECT COUNT(*) FROM withdrawn", {}); };
  EXPECT_EQ(kept(), 255U);
  ASSERT_TRUE(store_.expire({.decided = 0, .announced = 2000, .limit = 16}, 2000 + 86'400).ok());
  EXPECT_EQ(kept(), 1U);
  EXPECT_EQ(announced(update(256), 2000 + 86'400), "none");
}

}  // namespace
}  // namespace zkapex
