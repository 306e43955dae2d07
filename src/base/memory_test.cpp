#include "base/memory.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

constexpr uint64_t kGi = uint64_t{1} << 30;

TEST(Memory, PeakStaysWhenMemoryIsGivenBack) {
  const auto before = memory_use();
  ASSERT_TRUE(before.ok()) << before.error().message;
  EXPECT_GT(before->resident, 0U);
  EXPECT_GE(before->peak, before->resident);

  constexpr size_t kSize = size_t{64} << 20;
  {
    const std::vector<char> large(kSize, 'x');
    EXPECT_EQ(large.back(), 'x');
    EXPECT_GE(memory_use()->resident, kSize);
  }
  EXPECT_GE(memory_use()->peak, kSize);
}

TEST(Memory, AMeterSeesWhatComesOnTop) {
  constexpr size_t kSize = size_t{96} << 20;
  const MemoryMeter meter;
  { EXPECT_EQ(std::vector<char>(kSize, 'x').back(), 'x'); }
  EXPECT_GE(meter.most_added(), kSize * 9 / 10);
}

TEST(Memory, SizesWithAndWithoutUnit) {
  EXPECT_EQ(*parse_size("1"), 1U);
  EXPECT_EQ(*parse_size("1536"), 1536U);
  EXPECT_EQ(*parse_size("4K"), 4096U);
  EXPECT_EQ(*parse_size("512M"), kGi / 2);
  EXPECT_EQ(*parse_size("2G"), 2 * kGi);
  EXPECT_EQ(*parse_size("2GiB"), 2 * kGi);
  EXPECT_EQ(*parse_size("3T"), 3 * 1024 * kGi);
  EXPECT_EQ(*parse_size("18446744073709551615"), UINT64_MAX);
  EXPECT_EQ(*parse_size("16777215T"), uint64_t{16777215} << 40);
}

TEST(Memory, OtherSizesAreRefused) {
  for (const auto* text : {"", "G", "-1", "+1", " 1", "1 G", "1.5G", "1g", "1GB", "1KM", "1iB", "0x10", "0", "0G",
                           "18446744073709551616", "16777216T", "1GiBB"}) {
    EXPECT_FALSE(parse_size(text).ok()) << text;
    EXPECT_FALSE(MemoryBudget::parse(text).ok()) << text;
  }
}

TEST(Memory, ABudgetHasAUnit) {
  EXPECT_EQ(MemoryBudget::parse("5M")->bytes(), 5U << 20);
  for (const auto* text : {"5", "512", "1073741824"}) {
    EXPECT_EQ(refusal(MemoryBudget::parse(text)), fmt::format("'{}' has no unit; write 512M or 2G", text));
  }
}

TEST(Memory, SizesForPeople) {
  EXPECT_EQ(format_size(0), "0 B");
  EXPECT_EQ(format_size(1023), "1023 B");
  EXPECT_EQ(format_size(1024), "1.0 KiB");
  EXPECT_EQ(format_size(3 * kGi / 2), "1.5 GiB");
  EXPECT_EQ(format_size(UINT64_MAX), "16.0 EiB");
}

TEST(Memory, BudgetCountsWhatFits) {
  const MemoryBudget budget(100);
  EXPECT_EQ(*budget.items_that_fit(100), 1U);
  EXPECT_EQ(*budget.items_that_fit(33), 3U);
  EXPECT_EQ(*budget.items_that_fit(33, 1), 3U);
  EXPECT_EQ(*budget.items_that_fit(33, 2), 2U);
  EXPECT_EQ(*budget.items_that_fit(1, 99), 1U);
  EXPECT_EQ(*budget.items_that_fit(0, 99), 1U);
}

TEST(Memory, BudgetSaysWhatIsNeededWhenNothingFits) {
  EXPECT_EQ(refusal(MemoryBudget(100).items_that_fit(50, 60)),
            "at least 110 B of memory are needed, but the budget is 100 B; raise it with --memory");
  EXPECT_FALSE(MemoryBudget(100).items_that_fit(1, 100).ok());
  EXPECT_FALSE(MemoryBudget(100).items_that_fit(1, 101).ok());
  EXPECT_EQ(refusal(MemoryBudget(100).items_that_fit(2, UINT64_MAX)),
            "at least 16.0 EiB of memory are needed, but the budget is 100 B; raise it with --memory");
  EXPECT_FALSE(MemoryBudget(100).items_that_fit(UINT64_MAX, UINT64_MAX).ok());
}

}  // namespace
}  // namespace zkapex
