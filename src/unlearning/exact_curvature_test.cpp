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
        const uint64_t floor = rng() >> 24;
        ExactCurvature curvature(block, bits, floor);
        curvature.load(std::span<const int16_t>(factor), block);

        std::vector<int64_t> x(curvature.columns());
        const int64_t most = (int64_t{1} << (width + 1)) - 1;
        for (size_t k = 0; k < block; ++k)
          x[k] = rng() % 3 == 0 ? (rng() % 2 == 0 ? most : -most)
                                : std::uniform_int_distribution<int64_t>(-most, most)(rng);
        std::vector<int128> y(x.size(), 5), z(block);
        curvature.add(x, y);
        const auto entry = [&](size_t j, size_t l) { return static_cast<int128>(factor[triangle_size(j) + l]); };
        for (size_t l = 0; l < block; ++l)
          for (size_t j = l; j < block; ++j) z[l] += entry(j, l) * x[j];
        for (size_t j = 0; j < block; ++j) {
          int128 want = 5 + static_cast<int128>(floor) * x[j];
          for (size_t l = 0; l <= j; ++l) want += entry(j, l) * z[l];
          EXPECT_TRUE(y[j] == want) << bits << " " << block << " " << width << " " << j;
        }
      }
    }
  }
}

TEST(ExactCurvature, NarrowAndWideEntriesAgree) {
  std::mt19937_64 rng(2);
  std::vector<int16_t> wide(triangle_size(40));
  for (int16_t& v : wide) v = static_cast<int8_t>(rng());
  const std::vector<int8_t> narrow(wide.begin(), wide.end());
  for (const size_t size : {size_t{1}, size_t{16}, size_t{20}, size_t{40}}) {  // of a whole block, or of a part
    ExactCurvature a(40, 8, 1), b(40, 8, 1);
    a.load(std::span<const int16_t>(wide), size);
    b.load(std::span<const int8_t>(narrow), size);
    ASSERT_EQ(a.columns(), (size + 15) / 16 * 16);
    EXPECT_FALSE(a.bytes());
    EXPECT_TRUE(b.bytes());
    std::vector<int64_t> x(a.columns());
    for (size_t k = 0; k < size; ++k) x[k] = static_cast<int64_t>(rng() >> 20);
    std::vector<int128> y(x.size()), same(x.size());
    a.add(x, y);
    b.add(x, same);
    EXPECT_TRUE(y == same);
  }
}

}  // namespace
}  // namespace zkapex
