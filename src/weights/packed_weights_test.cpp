#include "weights/packed_weights.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

// Coordinate k is k + 1, wherever it is read. Each read is of one tensor and never of more than a row.
class RowsTest : public ::testing::TestWithParam<uint64_t> {
 protected:
  RowsTest()
      : layout_(*Layout::make({{"a", Dtype::kF32, {7}}, {"b", Dtype::kF32, {40}}, {"c", Dtype::kF32, {16}}},
                              {"a", "b", "c"}, {.block = GetParam(), .row = 16})) {}

  Status read(uint64_t first_row, std::span<int64_t> out) {
    return read_rows(layout_, first_row, out, [&](uint64_t first, std::span<int64_t> to) -> Status {
      ++reads_;
      for (size_t k = 0; k < to.size(); ++k) to[k] = static_cast<int64_t>(first + k + 1);
      return Done{};
    });
  }

  Layout layout_;
  unsigned reads_ = 0;
};

TEST_P(RowsTest, HoldTheirCoordinatesAndZeroOnPadding) {
  const uint64_t n = layout_.geometry().row, stride = layout_.geometry().stride();
  std::vector<int64_t> expected(layout_.rows() * n);
  for (uint64_t b = 0; b < layout_.blocks(); ++b) {
    const Layout::Block block = layout_.block(b);
    for (uint64_t k = 0; k < block.count; ++k)
      expected[block.slot * stride + k] = static_cast<int64_t>(block.first_coordinate + k + 1);
  }
  for (uint64_t rows : {uint64_t{1}, uint64_t{2}, layout_.rows()}) {
    for (uint64_t first = 0; first + rows <= layout_.rows(); ++first) {
      std::vector<int64_t> found(rows * n, -1);
      ASSERT_TRUE(read(first, found).ok());
      EXPECT_TRUE(std::ranges::equal(found, std::span(expected).subspan(first * n, rows * n))) << first << " " << rows;
    }
  }
}

// With gaps between blocks (3 at stride 4) a read is a block; without (4) it is what a row has of a tensor.
TEST_P(RowsTest, AreReadInAsFewPartsAsTheirGapsAllow) {
  std::vector<int64_t> all(layout_.rows() * layout_.geometry().row);
  ASSERT_TRUE(read(0, all).ok());
  EXPECT_EQ(reads_, GetParam() == 4 ? layout_.rows() : layout_.blocks());
}

INSTANTIATE_TEST_SUITE_P(Blocks, RowsTest, ::testing::Values(3, 4));

}  // namespace
}  // namespace zkapex
