// Unsigned integers of 512 bits, for the few places where 128 are not enough: bounds that must hold exactly.
// Results that do not fit saturate at kMax and stay there, so that a bound that overflows is never met by accident.
#pragma once

#include <array>
#include <compare>
#include <cstdint>
#include <string>

#include "base/int128.h"

namespace zkapex {

class Wide {
 public:
  static constexpr size_t kLimbs = 8;

  constexpr Wide() = default;
  constexpr Wide(uint64_t v) : limbs_{v} {}  // NOLINT: implicit by design
  static constexpr Wide from(uint128 v) {
    Wide out(static_cast<uint64_t>(v));
    out.limbs_[1] = static_cast<uint64_t>(v >> 64);
    return out;
  }
  static Wide square_of(int128 v);
  static Wide max();
  static Wide power_of_two(unsigned exponent);  // max() from 2^512 on

  [[nodiscard]] bool saturated() const { return *this == max(); }
  [[nodiscard]] unsigned bit_length() const;  // 0 for 0
  [[nodiscard]] bool bit(unsigned k) const { return k < 64 * kLimbs && (limbs_[k / 64] >> (k % 64) & 1) != 0; }
  [[nodiscard]] const std::array<uint64_t, kLimbs>& limbs() const { return limbs_; }  // least significant first

  Wide& operator+=(const Wide& other);
  friend Wide operator+(Wide a, const Wide& b) { return a += b; }
  friend Wide operator*(const Wide& a, const Wide& b);
  // a - b, only for a >= b.
  friend Wide operator-(const Wide& a, const Wide& b);
  // Rounded down; divisor not 0.
  [[nodiscard]] Wide divided_by(uint64_t divisor) const;

  bool operator==(const Wide&) const = default;
  std::strong_ordering operator<=>(const Wide& other) const;

  [[nodiscard]] std::string decimal() const;
  [[nodiscard]] double approximate() const;

 private:
  std::array<uint64_t, kLimbs> limbs_{};
};

}  // namespace zkapex
