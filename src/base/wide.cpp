#include "base/wide.h"

#include <algorithm>
#include <bit>

namespace zkapex {

Wide Wide::max() {
  Wide out;
  out.limbs_.fill(~uint64_t{0});
  return out;
}

Wide Wide::power_of_two(unsigned exponent) {
  if (exponent >= 64 * kLimbs) return max();
  Wide out;
  out.limbs_[exponent / 64] = uint64_t{1} << (exponent % 64);
  return out;
}

Wide Wide::square_of(int128 v) {
  const Wide magnitude = from(v < 0 ? uint128{0} - static_cast<uint128>(v) : static_cast<uint128>(v));
  return magnitude * magnitude;
}

unsigned Wide::bit_length() const {
  for (size_t k = kLimbs; k-- > 0;)
    if (limbs_[k] != 0) return static_cast<unsigned>(64 * k) + static_cast<unsigned>(std::bit_width(limbs_[k]));
  return 0;
}

Wide& Wide::operator+=(const Wide& other) {
  if (saturated() || other.saturated()) return *this = max();
  uint128 carry = 0;
  for (size_t k = 0; k < kLimbs; ++k) {
    carry += static_cast<uint128>(limbs_[k]) + other.limbs_[k];
    limbs_[k] = static_cast<uint64_t>(carry);
    carry >>= 64;
  }
  return carry != 0 ? *this = max() : *this;
}

Wide operator*(const Wide& a, const Wide& b) {
  if (a == Wide() || b == Wide()) return {};
  if (a.saturated() || b.saturated()) return Wide::max();
  Wide out;
  for (size_t i = 0; i < Wide::kLimbs; ++i) {
    if (a.limbs_[i] == 0) continue;
    uint128 carry = 0;
    for (size_t j = 0; j < Wide::kLimbs; ++j) {
      const uint128 product = static_cast<uint128>(a.limbs_[i]) * b.limbs_[j];
      if (i + j >= Wide::kLimbs) {
        if (product != 0) return Wide::max();
        continue;
      }
      carry += product;  // at most (2^64 - 1)^2 + 2^64 - 1 before the limb is added, which still fits
      carry += out.limbs_[i + j];
      out.limbs_[i + j] = static_cast<uint64_t>(carry);
      carry >>= 64;
    }
    if (carry != 0) return Wide::max();
  }
  return out;
}

Wide operator-(const Wide& a, const Wide& b) {
  Wide out;
  uint64_t borrow = 0;
  for (size_t k = 0; k < Wide::kLimbs; ++k) {
    const uint128 difference = static_cast<uint128>(a.limbs_[k]) - b.limbs_[k] - borrow;
    out.limbs_[k] = static_cast<uint64_t>(difference);
    borrow = static_cast<uint64_t>(difference >> 64) != 0 ? 1 : 0;
  }
  return out;
}

Wide Wide::divided_by(uint64_t divisor) const {
  Wide out;
  uint128 rest = 0;
  for (size_t k = kLimbs; k-- > 0;) {
    rest = rest << 64 | limbs_[k];
    out.limbs_[k] = static_cast<uint64_t>(rest / divisor);
    rest %= divisor;
  }
  return out;
}

std::strong_ordering Wide::operator<=>(const Wide& other) const {
  for (size_t k = kLimbs; k-- > 0;)
    if (limbs_[k] != other.limbs_[k]) return limbs_[k] <=> other.limbs_[k];
  return std::strong_ordering::equal;
}

double Wide::approximate() const {
  double out = 0;
  for (size_t k = kLimbs; k-- > 0;) out = out * 0x1p64 + static_cast<double>(limbs_[k]);
  return out;
}

std::string Wide::decimal() const {
  std::string digits;
  Wide rest = *this;
  do {
    const Wide tenth = rest.divided_by(10);
    digits.push_back(static_cast<char>('0' + (rest - tenth * 10).limbs_[0]));
    rest = tenth;
  } while (rest != Wide());
  std::reverse(digits.begin(), digits.end());
  return digits;
}

}  // namespace zkapex
