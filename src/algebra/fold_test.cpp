#include "algebra/fold.h"

#include <gtest/gtest.h>

#include <limits>
#include <random>

#include "algebra/fold_words.h"
#include "algebra/group_testing.h"

namespace zkapex {
namespace {

using fold_kernels::kBlockRows;
using fold_kernels::kChunkCols;
using fold_kernels::kGroup;
using fold_kernels::kPanel;

// ---- plain references: one multiplication an entry, nothing else

std::vector<Scalar> fold_rows_plain(const IntMatrix& m, std::span<const Scalar> weights) {
  std::vector<Scalar> out(m.cols());
  for (size_t r = 0; r < m.rows(); ++r) {
    for (size_t l = 0; l < m.cols(); ++l) out[l] += weights[r] * Scalar::from_i64(m.at(r, l));
  }
  return out;
}

std::vector<Scalar> fold_columns_plain(const IntMatrix& m, std::span<const Scalar> weights) {
  std::vector<Scalar> out(m.rows());
  for (size_t r = 0; r < m.rows(); ++r) {
    for (size_t l = 0; l < m.cols(); ++l) out[r] += weights[l] * Scalar::from_i64(m.at(r, l));
  }
  return out;
}

std::vector<const fold_kernels::Kernels*> all_kernels() {
  std::vector<const fold_kernels::Kernels*> out;
  for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set()))
    out.push_back(&fold_kernels_of(set));
  return out;
}

class FoldTest : public ::testing::Test {
 protected:
  Scalar random() { return testing::random_scalar(generator_); }
  // Montgomery words that are all zero, that are largest (l - 1), whose digits are all -2^15 but the last, or random.
  Scalar weight() {
    constexpr uint64_t kLow = 0x7fff7fff7fff7fff;
    switch (generator_() % 8) {
      case 0:
        return Scalar::zero();
      case 1:
        return Scalar::from_montgomery_words({montgomery::kOrder[0] - 1, montgomery::kOrder[1], 0, 1ull << 60});
      case 2:
        return Scalar::from_montgomery_words({kLow + 1, kLow, kLow, 0x0fff7fff7fff7fff});
      case 3:
        return -Scalar::one();
      default:
        return random();
    }
  }
  std::vector<Scalar> weights(size_t n) {
    std::vector<Scalar> out(n);
    for (Scalar& w : out) w = weight();
    return out;
  }
  template <class T>
  std::vector<T> entries(size_t n) {
    std::vector<T> out(n);
    for (T& e : out) {
      const uint64_t r = generator_();
      e = r % 8 == 0   ? std::numeric_limits<T>::min()
          : r % 8 == 1 ? std::numeric_limits<T>::max()
                       : static_cast<T>(r >> 8);
    }
    return out;
  }

  // Entries end exactly where the matrix ends, so that a sanitizer sees any read past it.
  template <class T>
  void check(size_t rows, size_t cols, size_t stride) {
    const std::vector<T> data = entries<T>(rows == 0 ? 0 : (rows - 1) * stride + cols);
    const IntMatrix matrix(data.data(), rows, cols, stride);
    const std::vector<Scalar> of_rows = weights(rows), of_cols = weights(cols);
    const std::vector<Scalar> by_rows = fold_rows_plain(matrix, of_rows), by_cols = fold_columns_plain(matrix, of_cols);
    for (const fold_kernels::Kernels* kernels : all_kernels()) {
      ASSERT_EQ(fold_rows(matrix, of_rows, pool_, *kernels), by_rows) << rows << " x " << cols;
      ASSERT_EQ(fold_columns(matrix, of_cols, pool_, *kernels), by_cols) << rows << " x " << cols;
    }
  }

  std::mt19937_64 generator_{11};
  ThreadPool pool_{2};
};

TEST_F(FoldTest, SizesAroundTheGroupsOfColumns) {
  for (size_t cols : {size_t{0}, size_t{1}, size_t{7}, kGroup / 2, kGroup / 2 + 1, kGroup - 1, kGroup, kGroup + 1,
                      kPanel - 1, kPanel, kPanel + 1, 2 * kPanel + 9}) {
    for (size_t rows : {0u, 1u, 2u, 3u, 17u}) {
      check<int8_t>(rows, cols, cols + 5);
      check<int16_t>(rows, cols, cols + 5);
      check<int16_t>(rows, cols, cols);
    }
  }
}

TEST_F(FoldTest, SizesAroundTheBlocksOfRows) {
  for (size_t rows : {kBlockRows - 1, kBlockRows, kBlockRows + 1, 16 * kBlockRows + 1}) {
    check<int8_t>(rows, 3, 3);
    check<int16_t>(rows, 3, 4);
  }
}

TEST_F(FoldTest, SizesAroundTheChunksOfColumns) {
  for (size_t cols : {kChunkCols - 1, kChunkCols, kChunkCols + 1, 2 * kChunkCols}) {
    check<int8_t>(3, cols, cols);
    check<int16_t>(2, cols, cols);
  }
}

// Every partial sum at its largest: all entries and all digits extreme, in the sign that adds up.
template <class T>
void check_extremes(ThreadPool& pool) {
  constexpr uint64_t kLow = 0x7fff7fff7fff7fff;
  const Scalar digits_low = Scalar::from_montgomery_words({kLow + 1, kLow, kLow, 0x0fff7fff7fff7fff});
  const Scalar digits_high = Scalar::from_montgomery_words({kLow, kLow, kLow, 0x0fff7fff7fff7fff});
  for (const Scalar& w : {digits_low, digits_high}) {
    for (int entry : {int{std::numeric_limits<T>::min()}, int{std::numeric_limits<T>::max()}, -1, 255}) {
      const std::vector<T> data(2 * kBlockRows * kPanel, static_cast<T>(entry));
      const Scalar e = Scalar::from_i64(data[0]);
      for (const fold_kernels::Kernels* kernels : all_kernels()) {
        const std::vector<Scalar> of_rows(2 * kBlockRows, w), of_cols(kChunkCols, w);
        const IntMatrix tall(data.data(), 2 * kBlockRows, kPanel, kPanel),
            broad(data.data(), 3, kChunkCols, kChunkCols);
        for (const Scalar& x : fold_rows(tall, of_rows, pool, *kernels)) {
          ASSERT_EQ(x, e * w * Scalar::from_u64(2 * kBlockRows));
        }
        for (const Scalar& x : fold_columns(broad, of_cols, pool, *kernels)) {
          ASSERT_EQ(x, e * w * Scalar::from_u64(kChunkCols));
        }
      }
    }
  }
}

TEST_F(FoldTest, ExtremeSumsDoNotOverflow) {
  check_extremes<int8_t>(pool_);
  check_extremes<int16_t>(pool_);
}

TEST_F(FoldTest, RowsInBatchesAndAgain) {
  constexpr size_t kRows = 700, kCols = 70;
  const std::vector<int8_t> data = entries<int8_t>(kRows * kCols);
  const std::vector<Scalar> w = weights(kRows);
  const std::vector<Scalar> expected = fold_rows_plain(IntMatrix(data.data(), kRows, kCols, kCols), w);
  RowFolder folder(kCols, pool_);
  for (int again = 0; again < 2; ++again) {
    for (size_t row = 0; row < kRows;) {
      const size_t count = std::min<size_t>(1 + row / 2, kRows - row);
      folder.add(IntMatrix(data.data() + row * kCols, count, kCols, kCols), std::span(w).subspan(row, count));
      row += count;
    }
    EXPECT_EQ(folder.finish(), expected);
  }
  EXPECT_EQ(folder.finish(), std::vector<Scalar>(kCols));
}

TEST_F(FoldTest, LowerTriangles) {
  for (size_t side : {1u, 2u, 15u, 16u, 17u, 33u, 129u, 256u, 301u}) {
    std::vector<int8_t> narrow = entries<int8_t>(side * side);
    std::vector<int16_t> wide = entries<int16_t>(side * side);
    for (size_t k = 0; k < side * side; ++k) {
      if (k % side > k / side) narrow[k] = 0, wide[k] = 0;
    }
    const std::vector<Scalar> w = weights(side);
    for (const IntMatrix& matrix :
         {IntMatrix(narrow.data(), side, side, side), IntMatrix(wide.data(), side, side, side)}) {
      for (const fold_kernels::Kernels* kernels : all_kernels()) {
        EXPECT_EQ(fold_rows(matrix.lower_triangle(), w, pool_, *kernels), fold_rows_plain(matrix, w)) << side;
        EXPECT_EQ(fold_columns(matrix.lower_triangle(), w, pool_, *kernels), fold_columns_plain(matrix, w)) << side;
      }
    }
  }
}

TEST_F(FoldTest, RowsOfTriangles) {
  for (size_t side : {size_t{16}, kPanel, 2 * kPanel}) {
    const size_t cols = 2 * side * side;
    constexpr size_t kRows = 5;
    std::vector<int8_t> data = entries<int8_t>(kRows * cols);
    for (size_t k = 0; k < data.size(); ++k) {
      if (k % side > k / side % side) data[k] = 0;
    }
    const IntMatrix matrix(data.data(), kRows, cols, cols);
    const std::vector<Scalar> w = weights(kRows);
    RowFolder folder(cols, pool_, side);
    folder.add(matrix, w);
    const std::vector<Scalar> all = fold_rows_plain(matrix, w);
    EXPECT_EQ(folder.finish(), all) << side;
    // The same by some lines of a square at a time.
    const size_t width = side / 4 * side;
    for (size_t first = 0; first < cols; first += width) {
      RowFolder part(width, pool_, side, first);
      part.add(IntMatrix(data.data() + first, kRows, width, cols), w);
      EXPECT_EQ(part.finish(), std::vector<Scalar>(all.begin() + static_cast<ptrdiff_t>(first),
                                                   all.begin() + static_cast<ptrdiff_t>(first + width)))
          << side << ' ' << first;
    }
  }
}

TEST_F(FoldTest, ExactIntegers) {
  // Around one pass of digits, and the largest that the sums leave room for.
  for (const unsigned bits : {1u, 17u, 61u, 62u, 63u, 64u, 65u, 94u}) {
    for (const size_t size : {size_t{1}, size_t{17}, kBlockRows + 1}) {
      const std::vector<int16_t> data = entries<int16_t>(size * size);
      const IntMatrix matrix(data.data(), size, size, size);
      std::vector<int128> w(size), by_rows(size), by_columns(size);
      for (int128& v : w) {
        v = static_cast<int128>(static_cast<uint128>(generator_()) << 64 | generator_()) >> (128 - bits);
        if (generator_() % 4 == 0) v = (int128{1} << (bits - 1)) - 1;
        if (generator_() % 4 == 0) v = -(int128{1} << (bits - 1));
      }
      for (size_t r = 0; r < size; ++r) {
        for (size_t l = 0; l < size; ++l) {
          by_rows[l] += w[r] * matrix.at(r, l);
          by_columns[r] += w[l] * matrix.at(r, l);
        }
      }
      for (const fold_kernels::Kernels* kernels : all_kernels()) {
        std::vector<int128> out(size);
        fold_rows_exact(matrix, w, out, *kernels);
        EXPECT_TRUE(out == by_rows) << size << " rows, weights of " << bits << " bits";
        fold_columns_exact(matrix, w, out, *kernels);
        EXPECT_TRUE(out == by_columns) << size << " columns, weights of " << bits << " bits";
      }
    }
  }
}

TEST_F(FoldTest, SixtyFourBitIntegers) {
  for (size_t cols : {0u, 1u, 255u, 256u, 257u}) {
    for (size_t rows : {0u, 1u, 2u, 9u}) {
      const std::vector<int64_t> values = entries<int64_t>(rows * cols);
      const std::vector<Scalar> w = weights(rows);
      std::vector<Scalar> expected(cols);
      for (size_t k = 0; k < values.size(); ++k) expected[k % cols] += w[k / cols] * Scalar::from_i64(values[k]);
      EXPECT_EQ(fold_i64(values, cols, w, pool_), expected) << rows << " x " << cols;
    }
  }
}

// As large as they get, more of them than columns hold untidied, on each path.
TEST_F(FoldTest, ExtremeSixtyFourBitIntegers) {
  std::vector<fold_words::Fold> folds = {fold_words::fold_portable};
#if defined(__x86_64__)
  if (detect_instruction_set() >= InstructionSet::kAvx512) folds.push_back(fold_words::fold_avx512);
#endif
  for (const size_t rows : {1U, 512U, 513U, 9000U}) {
    for (const int64_t value : {INT64_MIN, INT64_MAX, int64_t{0}, int64_t{-1}}) {
      for (const Scalar& w : {-Scalar::one(), Scalar::from_montgomery_words(
                                                  {montgomery::kOrder[0] - 1, montgomery::kOrder[1], 0, 1ull << 60})}) {
        constexpr size_t kCols = 11;
        const std::vector<int64_t> values(rows * kCols, value);
        const std::vector<Scalar> weights(rows, w);
        const Scalar sum = w * Scalar::from_u64(rows) * (Scalar::from_i64(value) + Scalar::power_of_two(63));
        for (const fold_words::Fold fold : folds) {
          std::vector<Scalar> out(kCols);
          fold(values.data(), kCols, kCols, reinterpret_cast<const uint64_t*>(weights.data()), rows,
               reinterpret_cast<uint64_t*>(out.data()));
          ASSERT_EQ(out, std::vector<Scalar>(kCols, sum)) << rows << " times " << value;
        }
      }
    }
  }
}

TEST_F(FoldTest, Bits) {
  for (size_t cols : {0u, 1u, 7u, 8u, 9u, 63u, 64u, 65u, 300u}) {
    for (size_t rows : {0u, 1u, 7u, 8u, 9u, 511u, 512u, 513u}) {
      const size_t words = (cols + 63) / 64 + cols % 2;
      std::vector<uint64_t> bits(rows * words);
      for (uint64_t& b : bits) b = generator_();
      const std::vector<Scalar> w = weights(rows);
      std::vector<Scalar> expected(cols);
      for (size_t r = 0; r < rows; ++r) {
        for (size_t l = 0; l < cols; ++l) {
          if (bits[r * words + l / 64] >> (l % 64) & 1) expected[l] += w[r];
        }
      }
      ASSERT_EQ(fold_bits(bits, words, cols, w, pool_), expected) << rows << " x " << cols;
    }
  }
}

TEST_F(FoldTest, BitsBeyondTheCarryFreeAdditions) {
  // All bits set, so that each eight rows add 2^252 − 1, whose limbs are all ones: more often than a limb has room for.
  constexpr size_t kRows = 8 * ((1 << 13) + 65);
  const Scalar all_ones = Scalar::from_montgomery_words({~0ull, ~0ull, ~0ull, (1ull << 60) - 1});
  const Scalar eighth = all_ones * Scalar::from_u64(8).inverse();
  const std::vector<uint64_t> bits(kRows, ~uint64_t{0});
  const std::vector<Scalar> w(kRows, eighth);
  for (const Scalar& x : fold_bits(bits, 1, 3, w, pool_)) EXPECT_EQ(x, eighth * Scalar::from_u64(kRows));
}

}  // namespace
}  // namespace zkapex
