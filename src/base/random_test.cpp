#include "base/random.h"

#include <gtest/gtest.h>

#include <bitset>
#include <set>
#include <thread>
#include <vector>

namespace zkapex {
namespace {

TEST(Random, DrawsDiffer) {
  std::set<std::array<uint8_t, 32>> seen;
  for (int k = 0; k < 100; ++k) {
    const auto draw = random_array<32>();
    ASSERT_TRUE(draw.ok());
    EXPECT_TRUE(seen.insert(*draw).second);
  }
}

TEST(Random, FillsTheWholeSpanAndNothingElse) {
  std::vector<uint8_t> bytes(66, 0);
  std::vector<uint8_t> ever_set(66, 0);
  for (int k = 0; k < 20; ++k) {
    ASSERT_TRUE(random_bytes(std::span(bytes).subspan(1, 64)).ok());
    for (size_t i = 0; i < bytes.size(); ++i) ever_set[i] |= bytes[i];
  }
  EXPECT_EQ(ever_set.front(), 0);
  EXPECT_EQ(ever_set.back(), 0);
  for (size_t i = 1; i < 65; ++i) EXPECT_NE(ever_set[i], 0) << i;  // false with probability 64 * 2^-160
  EXPECT_TRUE(random_bytes({}).ok());
}

// 2^20 bits: the number of ones is within 10 standard deviations (of 512 each) of the half.
TEST(Random, BitsAreBalanced) {
  std::vector<uint8_t> bytes(1 << 17);
  ASSERT_TRUE(random_bytes(bytes).ok());
  long ones = 0;
  for (uint8_t b : bytes) ones += static_cast<long>(std::bitset<8>(b).count());
  EXPECT_NEAR(static_cast<double>(ones), 1 << 19, 5120);
}

TEST(Random, SeveralThreadsMayStartIt) {
  std::array<std::array<uint8_t, 16>, 4> draws{};
  std::vector<std::thread> threads;
  for (auto& draw : draws) threads.emplace_back([&draw] { EXPECT_TRUE(random_bytes(draw).ok()); });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(std::set(draws.begin(), draws.end()).size(), draws.size());
}

}  // namespace
}  // namespace zkapex
