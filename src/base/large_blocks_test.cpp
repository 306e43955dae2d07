#include "base/large_blocks.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

namespace zkapex {
namespace {

constexpr size_t kMegabyte = size_t{1} << 20;

TEST(LargeBlocks, ABlockIsZeroOnAPageAndGoesBack) {
  for (const size_t size :
       {kLargeBlock, kLargeBlock + 1, 8 * kMegabyte, 9 * kMegabyte + (size_t{1} << 16), 40 * kMegabyte + 3}) {
    auto* const block = static_cast<unsigned char*>(allocate_large(size));
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(block) % (size >= 8 * kMegabyte ? 2 * kMegabyte : 4096), 0U);
    EXPECT_EQ(block[0] | block[size - 1], 0);
    std::memset(block, 1, size);
    EXPECT_TRUE(free_large(block));
    EXPECT_FALSE(free_large(block));
    EXPECT_EQ(kept_large_bytes(), 0U);
  }
}

TEST(LargeBlocks, OthersAreTold) {
  alignas(4096) static unsigned char page[4096];
  EXPECT_FALSE(free_large(page));
  EXPECT_FALSE(free_large(page + 16));
}

TEST(LargeBlocks, AKeptBlockIsUsedAgainWhereItFits) {
  const LargeBlocksKept keeps;
  void* const first = allocate_large(8 * kMegabyte);
  ASSERT_TRUE(free_large(first));
  EXPECT_EQ(kept_large_bytes(), 8 * kMegabyte);
  void* const again = allocate_large(7 * kMegabyte);
  EXPECT_EQ(again, first);
  EXPECT_EQ(kept_large_bytes(), kMegabyte);
  ASSERT_TRUE(free_large(again));
}

TEST(LargeBlocks, PartsOfAKeptBlockGrowTogetherAgain) {
  const LargeBlocksKept keeps;
  auto* const whole = static_cast<unsigned char*>(allocate_large(12 * kMegabyte));
  ASSERT_TRUE(free_large(whole));
  std::vector<void*> parts;
  for (size_t k = 0; k < 3; ++k) {
    parts.push_back(allocate_large(4 * kMegabyte));
    EXPECT_EQ(parts[k], whole + k * 4 * kMegabyte);
  }
  for (const size_t k : {0, 2, 1}) ASSERT_TRUE(free_large(parts[k]));  // the last one joins both sides
  void* const again = allocate_large(12 * kMegabyte);
  EXPECT_EQ(again, whole);
  EXPECT_TRUE(free_large(again));
}

TEST(LargeBlocks, TheSmallestThatFitsIsTaken) {
  const LargeBlocksKept keeps;
  void* const large = allocate_large(10 * kMegabyte);
  void* const between = allocate_large(kMegabyte);
  void* const fitting = allocate_large(9 * kMegabyte);
  ASSERT_TRUE(free_large(large));
  ASSERT_TRUE(free_large(fitting));
  void* const again = allocate_large(9 * kMegabyte);
  EXPECT_EQ(again, fitting);
  EXPECT_TRUE(free_large(again));
  EXPECT_TRUE(free_large(between));
}

TEST(LargeBlocks, NewBlocksArePaidForByKeptOnes) {
  const LargeBlocksKept keeps;
  std::vector<void*> blocks;
  for (int k = 0; k < 8; ++k) blocks.push_back(allocate_large(4 * kMegabyte));
  // Every other one: no two of them grow together to what is asked for next.
  size_t kept = 0;
  for (size_t k = 0; k < blocks.size(); k += 2, kept += 4 * kMegabyte) ASSERT_TRUE(free_large(blocks[k]));
  EXPECT_EQ(kept_large_bytes(), kept);
  void* const larger = allocate_large(40 * kMegabyte);
  EXPECT_EQ(kept_large_bytes(), 0U);
  EXPECT_TRUE(free_large(larger));
  for (size_t k = 1; k < blocks.size(); k += 2) EXPECT_TRUE(free_large(blocks[k]));
}

TEST(LargeBlocks, TheLastKeeperGivesThemBack) {
  {
    const LargeBlocksKept outer;
    {
      const LargeBlocksKept inner;
      ASSERT_TRUE(free_large(allocate_large(3 * kMegabyte)));
    }
    EXPECT_EQ(kept_large_bytes(), 3 * kMegabyte);
  }
  EXPECT_EQ(kept_large_bytes(), 0U);
}

TEST(LargeBlocks, MoreThanThereArePlacesForIsRefused) {
  std::vector<void*> blocks;
  for (int k = 0; k < 2000; ++k) {
    void* const block = allocate_large(kLargeBlock);
    if (block == nullptr) break;
    blocks.push_back(block);
  }
  EXPECT_LT(blocks.size(), 2000U);
  for (void* block : blocks) EXPECT_TRUE(free_large(block));
}

TEST(LargeBlocks, FromManyThreads) {
  const LargeBlocksKept keeps;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t] {
      for (int k = 0; k < 100; ++k) {
        const size_t size = (1 + static_cast<size_t>(k + t) % 3) * kMegabyte;
        auto* const block = static_cast<unsigned char*>(allocate_large(size));
        ASSERT_NE(block, nullptr);
        block[0] = block[size - 1] = static_cast<unsigned char>(t);
        std::this_thread::yield();
        ASSERT_EQ(block[0], t);
        ASSERT_EQ(block[size - 1], t);
        ASSERT_TRUE(free_large(block));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace zkapex
