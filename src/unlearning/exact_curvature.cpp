#include "unlearning/exact_curvature.h"

#include <algorithm>

#include "base/bits.h"
#include "curvature/factor.h"

namespace zkapex {

// |entry| <= 2^(c-1), B terms, digits below 2^digit_bits: every partial sum stays within 2^52.
ExactCurvature::ExactCurvature(size_t block, unsigned bits, uint64_t floor)
    : digit_bits_(52 - (bits - 1) - log2_ceil(block)), floor_(floor) {}

template <class Entry>
void ExactCurvature::load(std::span<const Entry> factor, std::span<const uint32_t> kept,
                          std::span<const uint32_t> masked) {
  bytes_ = sizeof(Entry) == 1;
  kept_columns_ = panels_for(kept.size()) * kPanel;
  rows_.reshape(kept.size() + masked.size(), kept_columns_ + masked.size());
  ends_.assign(rows_.panels(), 0);
  const auto place = [&](std::span<const uint32_t> coordinates, size_t first_panel) {
    for (size_t begin = 0; begin < coordinates.size(); begin += kPanel) {
      const auto here = coordinates.subspan(begin, std::min(kPanel, coordinates.size() - begin));
      const size_t p = first_panel + begin / kPanel, end = here.back() + 1;
      ends_[p] = end;
      float* panel = rows_.panel(p);
      std::fill_n(panel, end * kPanel, 0.0F);
      for (size_t c = 0; c < here.size(); ++c) {
        const Entry* row = factor.data() + triangle_size(here[c]);
        for (size_t k = 0; k <= here[c]; ++k) panel[k * kPanel + c] = static_cast<float>(row[k]);
      }
    }
  };
  place(kept, 0);
  place(masked, kept_columns_ / kPanel);
}
template void ExactCurvature::load(std::span<const int8_t>, std::span<const uint32_t>, std::span<const uint32_t>);
template void ExactCurvature::load(std::span<const int16_t>, std::span<const uint32_t>, std::span<const uint32_t>);

template <class Integer>
size_t ExactCurvature::split(std::span<const Integer> values) {
  // Bits that differ from the sign somewhere; the top digit keeps the sign.
  Integer used = 0;
  for (const Integer v : values) used |= v < 0 ? ~v : v;
  size_t digits = 1;
  while (static_cast<int128>(used) >> (digits * digit_bits_) != 0) ++digits;  // 64 bits may be shifted out whole
  digits_.resize(digits * values.size());
  const Integer low = (Integer{1} << digit_bits_) - 1;
  for (size_t d = 0; d < digits; ++d) {
    double* out = &digits_[d * values.size()];
    const bool top = d + 1 == digits;
    for (size_t k = 0; k < values.size(); ++k) {
      const Integer shifted = values[k] >> (d * digit_bits_);
      out[k] = static_cast<double>(static_cast<int64_t>(top ? shifted : shifted & low));
    }
  }
  return digits;
}

void ExactCurvature::apply(std::span<const int64_t> x, std::span<int128> y) {
  const FactorKernels& kernels = FactorKernels::get();
  const size_t rows = rows_.rows();
  inner_.assign(rows, 0);
  scratch_.resize(rows * kMaxLanes);
  product_.resize(std::max(rows, columns()));
  const size_t outer_digits = split(x);
  for (size_t d = 0; d < outer_digits; ++d) {  // z = Lᵀ x
    kernels.multiply(std::as_const(rows_).view(), ends_.data(), &digits_[d * x.size()], product_.data(),
                     scratch_.data());
    for (size_t k = 0; k < rows; ++k)
      inner_[k] += static_cast<int128>(static_cast<int64_t>(product_[k])) << (d * digit_bits_);
  }
  for (size_t k = 0; k < y.size(); ++k) y[k] = static_cast<int128>(floor_) * x[k];
  const size_t inner_digits = split(std::span<const int128>(inner_));
  for (size_t d = 0; d < inner_digits; ++d) {  // L z + μ x
    kernels.multiply_transposed(std::as_const(rows_).view(), ends_.data(), &digits_[d * rows], product_.data());
    for (size_t k = 0; k < y.size(); ++k)
      y[k] += static_cast<int128>(static_cast<int64_t>(product_[k])) << (d * digit_bits_);
  }
}

}  // namespace zkapex
