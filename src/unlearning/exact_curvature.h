// A x over the integers, A = L Lᵀ + μ I of one block.
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

  // `factor` is a packed lower triangle of which the first `size` rows count. Entry is int8_t or int16_t.
  template <class Entry>
  void load(std::span<const Entry> factor, size_t size);

  [[nodiscard]] size_t size() const { return size_; }
  // Coordinates of the block, and padding to a whole panel, where L goes on as the identity.
  [[nodiscard]] size_t columns() const { return upper_.rows(); }
  // L's two arrangements (dense.h).
  [[nodiscard]] const PanelMatrix<float>& upper() const { return upper_; }
  [[nodiscard]] const PanelMatrix<float>& lower() const { return lower_; }
  // Whether entries have at most 8 bits.
  [[nodiscard]] bool bytes() const { return bytes_; }
  // μ
  [[nodiscard]] uint64_t floor() const { return floor_; }

  // y += A x, both with a number for each column; x is zero on padding.
  void add(std::span<const int64_t> x, std::span<int128> y);

 private:
  // Digits of all values: out[digit][k], as many as the largest value needs.
  template <class Integer>
  size_t split(std::span<const Integer> values);

  unsigned digit_bits_;
  bool bytes_ = false;
  uint64_t floor_;
  size_t size_ = 0;
  PanelMatrix<float> upper_, lower_;
  std::vector<double> digits_, product_;
  std::vector<int128> inner_;
};

}  // namespace zkapex
