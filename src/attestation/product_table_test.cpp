#include "attestation/product_table.h"

#include <gtest/gtest.h>

#include <limits>

namespace zkapex {
namespace {

TEST(ProductTable, TellsWhetherEntriesFit) {
  constexpr int128 kMost = std::numeric_limits<int64_t>::max(), kLeast = std::numeric_limits<int64_t>::min();
  ProductTable narrow(true, 4), wide(false, 2);
  EXPECT_TRUE(narrow.set(0, std::vector<int128>{kMost, kLeast}));
  EXPECT_TRUE(narrow.set(2, std::vector<int128>{-1, 0}));
  EXPECT_FALSE(narrow.set(2, std::vector<int128>{kMost + 1, 0}));
  EXPECT_FALSE(narrow.set(2, std::vector<int128>{0, kLeast - 1}));
  EXPECT_FALSE(narrow.set(2, std::vector<int128>{int128{1} << 100, 0}));
  EXPECT_TRUE(wide.set(0, std::vector<int128>{kMost + 1, kLeast - 1}));
  EXPECT_EQ(narrow.take().length(), 4U);
  EXPECT_EQ(wide.take().length(), 2U);
  EXPECT_EQ(wide.take().length(), 0U);
}

}  // namespace
}  // namespace zkapex
