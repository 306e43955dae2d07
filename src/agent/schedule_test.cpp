#include "agent/schedule.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace zkapex {
namespace {

TEST(Schedule, PollsAreSpreadAroundTheInterval) {
  EXPECT_EQ(next_poll(1000, 600, 0), 1300);
  EXPECT_EQ(next_poll(1000, 600, 0.5), 1600);
  EXPECT_LE(next_poll(1000, 600, 0.999), 1900);
}

TEST(Schedule, FailuresWaitTwiceAsLongEachTimeUpToAnHour) {
  EXPECT_EQ(next_try(0, 1, 0, 0), 4);
  EXPECT_EQ(next_try(0, 2, 0, 0), 8);
  EXPECT_EQ(next_try(0, 5, 0, 0), 64);
  EXPECT_EQ(next_try(0, 5, 0, 0.5), 48);
  EXPECT_EQ(next_try(0, 11, 0, 0), 3600);
  EXPECT_EQ(next_try(0, ~uint64_t{0}, 0, 0), 3600);
}

TEST(Schedule, TheOtherSideMayAskForMoreTime) {
  EXPECT_EQ(next_try(10, 1, 90, 0), 100);
  EXPECT_EQ(next_try(10, 5, 3, 0), 74);
}

TEST(Schedule, AgentsBeginInTheFirstTwoThirdsOfAWindow) {
  std::set<int64_t> starts;
  for (int k = 0; k < 50; ++k) {
    const int64_t start = own_start(1000, 31000, "agent-" + std::to_string(k), "w1");
    EXPECT_EQ(start, own_start(1000, 31000, "agent-" + std::to_string(k), "w1"));
    EXPECT_GE(start, 1000);
    EXPECT_LT(start, 21000);
    starts.insert(start);
  }
  EXPECT_GT(starts.size(), 45U);
  EXPECT_LT(*starts.begin(), 5000);
  EXPECT_GT(*starts.rbegin(), 17000);
  EXPECT_NE(own_start(0, 1 << 30, "a", "w1"), own_start(0, 1 << 30, "a", "w2"));
  EXPECT_EQ(own_start(50, 50, "a", "w1"), 50);
}

TEST(Schedule, ChanceIsAFraction) {
  for (int k = 0; k < 100; ++k) {
    const double chance = system_chance();
    EXPECT_GE(chance, 0);
    EXPECT_LT(chance, 1);
  }
}

}  // namespace
}  // namespace zkapex
