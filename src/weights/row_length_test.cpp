#include "weights/row_length.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

TEST(RowLength, FollowsTheModelBetweenItsBounds) {
  EXPECT_EQ(default_row_length(8, 1), 256U);
  EXPECT_EQ(default_row_length(8, 256), 256U);
  EXPECT_EQ(default_row_length(8, 257), 512U);
  EXPECT_EQ(default_row_length(8, 1024), 512U);
  EXPECT_EQ(default_row_length(256, 56'623'104), uint64_t{1} << 17);
  EXPECT_EQ(default_row_length(256, uint64_t{1} << 39), uint64_t{1} << 17);
}

TEST(RowLength, HoldsWholeBlocks) {
  EXPECT_EQ(default_row_length(256, 1), 256U);
  EXPECT_EQ(default_row_length(257, 1), 512U);
  EXPECT_EQ(default_row_length(1024, 1), 1024U);
  EXPECT_EQ(default_row_length(1024, 56'623'104), uint64_t{1} << 17);
}

}  // namespace
}  // namespace zkapex
