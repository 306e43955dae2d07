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

TEST(RowLength, HoldsWholeSquaresOfTheCurvature) {
  EXPECT_EQ(default_row_length(256, 1000), uint64_t{1} << 16);
  EXPECT_EQ(default_row_length(200, 1000), uint64_t{1} << 16);
  EXPECT_EQ(default_row_length(512, 56'623'104), uint64_t{1} << 18);
  EXPECT_EQ(default_row_length(1024, 1), uint64_t{1} << 20);
}

}  // namespace
}  // namespace zkapex
