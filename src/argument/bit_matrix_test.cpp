#include "argument/bit_matrix.h"

#include <gtest/gtest.h>

#include <random>

namespace zkapex {
namespace {

TEST(BitMatrix, TransposeByDefinition) {
  std::mt19937_64 rng(111);
  uint64_t block[64], out[64];
  for (uint64_t& w : block) w = rng();
  std::copy(std::begin(block), std::end(block), std::begin(out));
  transpose_64(out);
  for (unsigned j = 0; j < 64; ++j) {
    for (unsigned k = 0; k < 64; ++k) ASSERT_EQ(out[j] >> k & 1, block[k] >> j & 1);
  }
}

TEST(BitMatrix, HoldsBitKOfEachEntryInPlaneK) {
  std::mt19937_64 rng(112);
  ThreadPool pool(2);
  for (const size_t row_length : {1U, 8U, 64U, 128U}) {
    for (const unsigned planes : {1U, 7U, 64U}) {
      const std::vector<size_t> segments{3, 1, 2};
      std::vector<uint64_t> words(6 * row_length);
      for (uint64_t& w : words) w = rng();
      const BitMatrix bits(words, row_length, planes, segments, pool);
      EXPECT_EQ(bits.rows(), 6 * planes);
      const PackedRows packed = bits.packed();
      size_t value_row = 0;
      for (size_t s = 0; s < segments.size(); ++s) {
        EXPECT_EQ(bits.segment(s).size(), planes * segments[s] * bits.words_per_row());
        for (unsigned k = 0; k < planes; ++k) {
          for (size_t t = 0; t < segments[s]; ++t) {
            for (size_t l = 0; l < row_length; ++l) {
              const uint64_t bit = words[(value_row + t) * row_length + l] >> k & 1;
              const size_t row = k * segments[s] + t;
              ASSERT_EQ(bits.segment(s)[row * bits.words_per_row() + l / 64] >> (l % 64) & 1, bit);
              ASSERT_EQ(packed.at(bits.first_row(s) + row, l), static_cast<int32_t>(bit));
            }
          }
        }
        value_row += segments[s];
      }
    }
  }
}

TEST(BitMatrix, SignWeightsGiveTwosComplement) {
  for (const int64_t value : {INT64_MIN, int64_t{-1}, int64_t{0}, int64_t{1}, INT64_MAX}) {
    Scalar sum;
    const std::vector<Scalar> weights = sign_weights(64);
    for (unsigned k = 0; k < 64; ++k) {
      if ((static_cast<uint64_t>(value) >> k & 1) != 0) sum += weights[k];
    }
    EXPECT_EQ(sum, Scalar::from_i64(value));
  }
  EXPECT_EQ(sign_weights(1), std::vector{-Scalar::one()});
}

}  // namespace
}  // namespace zkapex
