// A x over the integers, A = L Lᵀ + μ I of one block, with the coordinates outside the mask first.
#pragma once

#include <span>
#include <vector>

#include "base/wide.h"
#include "curvature/dense.h"

namespace zkapex {

// Splits numbers into digits so small that sums of products with entries of L are exact in double, and puts the sums
// together in 128 bits. Limits: B <= 1024, c <= 16, |x| < 2^54, so |A x| < 2^106.
class ExactCurvature {
 public:
  ExactCurvature(size_t block, unsigned bits, uint64_t floor);

  // `factor` is a packed lower triangle of which the first `size` rows count; `kept` and `masked` are the coordinates
  // outside and inside the mask, increasing, together 0 .. size - 1. Entry is int8_t or int16_t.
  template <class Entry>
  void load(std::span<const Entry> factor, std::span<const uint32_t> kept, std::span<const uint32_t> masked);

  // Columns of the arranged block: the kept coordinates, padding to a whole panel, the masked ones, padding.
  [[nodiscard]] size_t kept_columns() const { return kept_columns_; }
  [[nodiscard]] size_t columns() const { return rows_.panels() * kPanel; }
  // rows()[k][column] = L[coordinate of the column][k]; rows from ends()[p] on are undefined in panel p, and zero.
  [[nodiscard]] const PanelMatrix<float>& rows() const { return rows_; }
  [[nodiscard]] const std::vector<size_t>& ends() const { return ends_; }

  // Whether entries have at most 8 bits.
  [[nodiscard]] bool bytes() const { return bytes_; }

  // y = A x, both by column; x is zero on padding.
  void apply(std::span<const int64_t> x, std::span<int128> y);

 private:
  // Digits of all values: out[digit][k], as many as the largest value needs.
  template <class Integer>
  size_t split(std::span<const Integer> values);

  unsigned digit_bits_;
  bool bytes_ = false;
  uint64_t floor_;
  size_t kept_columns_ = 0;
  PanelMatrix<float> rows_;
  std::vector<size_t> ends_;
  std::vector<double> digits_, product_, scratch_;
  std::vector<int128> inner_;
};

}  // namespace zkapex
