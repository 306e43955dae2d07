#include "unlearning/exact_curvature.h"

#include <gtest/gtest.h>

#include <random>

#include "curvature/factor.h"

namespace zkapex {
namespace {

// Every combination of sizes and bits, entries and weights at their extremes, against sums over 128-bit integers.
TEST(ExactCurvature, IsExactAtTheExtremes) {
  std::mt19937_64 rng(1);
  for (const unsigned bits : {2U, 8U, 12U, 16U}) {
    for (const size_t block : {size_t{1}, size_t{3}, size_t{16}, size_t{60}, size_t{200}}) {
      for (const unsigned width : {10U, 40U, 53U}) {
        const int limit = 1 << (bits - 1);
        std::vector<int16_t> factor(triangle_size(block));
        for (int16_t& v : factor)
          v = static_cast<int16_t>(rng() % 3 == 0 ? (rng() % 2 == 0 ? -limit : limit - 1)
                                                  : std::uniform_int_distribution<int>(-limit, limit - 1)(rng));
        std::vector<uint32_t> kept, masked;
        for (uint32_t k = 0; k < block; ++k) (rng() % 5 == 0 ? masked : kept).push_back(k);
        const uint64_t floor = rng() >> 24;
        ExactCurvature curvature(block, bits, floor);
        curvature.load(std::span<const int16_t>(factor), kept, masked);

        std::vector<int64_t> x(curvature.columns());
        const int64_t most = (int64_t{1} << (width + 1)) - 1;
        std::vector<size_t> column_of(block);
        for (size_t k = 0; k < kept.size(); ++k) column_of[kept[k]] = k;
        for (size_t k = 0; k < masked.size(); ++k) column_of[masked[k]] = curvature.kept_columns() + k;
        for (size_t k = 0; k < block; ++k)
          x[column_of[k]] = rng() % 3 == 0 ? (rng() % 2 == 0 ? most : -most)
                                           : std::uniform_int_distribution<int64_t>(-most, most)(rng);
        std::vector<int128> y(x.size()), z(block);
        curvature.apply(x, y);
        const auto entry = [&](size_t j, size_t l) { return static_cast<int128>(factor[triangle_size(j) + l]); };
        for (size_t l = 0; l < block; ++l)
          for (size_t j = l; j < block; ++j) z[l] += entry(j, l) * x[column_of[j]];
        for (size_t j = 0; j < block; ++j) {
          int128 want = static_cast<int128>(floor) * x[column_of[j]];
          for (size_t l = 0; l <= j; ++l) want += entry(j, l) * z[l];
          EXPECT_TRUE(y[column_of[j]] == want) << bits << " " << block << " " << width << " " << j;
        }
      }
    }
  }
}

TEST(ExactCurvature, NarrowAndWideEntriesAgree) {
  std::mt19937_64 rng(2);
  std::vector<int16_t> wide(triangle_size(20));
  for (int16_t& v : wide) v = static_cast<int8_t>(rng());
  const std::vector<int8_t> narrow(wide.begin(), wide.end());
  const std::vector<uint32_t> kept = {0, 3, 19}, masked = {1, 2, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18};
  ExactCurvature a(20, 8, 1), b(20, 8, 1);
  a.load(std::span<const int16_t>(wide), kept, masked);
  b.load(std::span<const int8_t>(narrow), kept, masked);
  ASSERT_EQ(a.columns(), 48U);
  std::vector<int64_t> x(48);
  for (const size_t k : {0, 1, 2, 16, 20, 32}) x[k] = static_cast<int64_t>(rng() >> 20);
  std::vector<int128> y(48), same(48);
  a.apply(x, y);
  b.apply(x, same);
  EXPECT_TRUE(y == same);
}

}  // namespace
}  // namespace zkapex
