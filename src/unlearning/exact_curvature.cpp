#include "unlearning/exact_curvature.h"

#include <algorithm>

#include "base/bits.h"
#include "curvature/factor.h"

namespace zkapex {

// |entry| <= 2^(c-1), B terms, digits below 2^digit_bits: every partial sum stays within 2^52.
ExactCurvature::ExactCurvature(size_t block, unsigned bits, uint64_t floor)
    : digit_bits_(52 - (bits - 1) - log2_ceil(block)), floor_(floor) {}

template <class Entry>
void ExactCurvature::load(std::span<const Entry> factor, size_t size) {
  bytes_ = sizeof(Entry) == 1;
  size_ = size;
  const size_t panels = panels_for(size);
  upper_.reshape(panels * kPanel, panels * kPanel);
  lower_.reshape(panels * kPanel, panels * kPanel);
  if constexpr (sizeof(Entry) == 1) {
    FactorKernels::get().arrange(factor.data(), size, upper_.view(), lower_.view());
  } else {
    arrange_factor(factor.data(), size, upper_.view(), lower_.view());
  }
}
template void ExactCurvature::load(std::span<const int8_t>, size_t);
template void ExactCurvature::load(std::span<const int16_t>, size_t);

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

void ExactCurvature::add(std::span<const int64_t> x, std::span<int128> y) {
  const FactorKernels& kernels = FactorKernels::get();
  const size_t n = columns();
  inner_.assign(n, 0);
  product_.resize(n);
  const size_t outer_digits = split(x);
  for (size_t d = 0; d < outer_digits; ++d) {  // z = Lᵀ x
    kernels.multiply_transposed(std::as_const(lower_).view(), &digits_[d * n], product_.data());
    for (size_t k = 0; k < n; ++k)
      inner_[k] += static_cast<int128>(static_cast<int64_t>(product_[k])) << (d * digit_bits_);
  }
  for (size_t k = 0; k < n; ++k) y[k] += static_cast<int128>(floor_) * x[k];
  const size_t inner_digits = split(std::span<const int128>(inner_));
  for (size_t d = 0; d < inner_digits; ++d) {  // L z + μ x
    kernels.multiply(std::as_const(upper_).view(), &digits_[d * n], product_.data());
    for (size_t k = 0; k < n; ++k) y[k] += static_cast<int128>(static_cast<int64_t>(product_[k])) << (d * digit_bits_);
  }
}

}  // namespace zkapex
