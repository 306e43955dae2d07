// Weights as integers: value = integer * 2^-f, the integer below 2^(w-1) in size (default f = 36, w = 40: |value| < 8).
#pragma once

#include <cstdint>
#include <span>

#include "weights/tensor.h"

namespace zkapex {

struct FixedPoint {
  static constexpr uint32_t kMaxWidth = 53;  // so that every integer is a double, and going back is exact

  uint32_t fraction_bits = 36;  // f
  uint32_t width = 40;          // w

  bool operator==(const FixedPoint&) const = default;

  Status check() const;
  [[nodiscard]] int64_t max() const { return (int64_t{1} << (width - 1)) - 1; }
  [[nodiscard]] int64_t min() const { return -max(); }
  [[nodiscard]] bool contains(int64_t v) const { return v >= min() && v <= max(); }

  // Rounded to nearest, ties to even. NaN, infinity and values out of range are errors that name tensor and index;
  // `first` is the index of values[0] in the tensor.
  Status from_doubles(std::string_view tensor, uint64_t first, std::span<const double> values,
                      std::span<int64_t> out) const;
  // Elements first .. first + out.size() - 1 of a floating-point tensor.
  Status read(const TensorView& tensor, uint64_t first, std::span<int64_t> out) const;

  // Exact.
  [[nodiscard]] double to_double(int64_t v) const;
};

// Elements of a tensor that no operator touches, as the integers that are committed: weights in the widest fixed point
// with so many fraction bits; anything else (counters, flags, tables) as its bits say, each element a signed or
// unsigned integer of its size, U64 modulo 2^64.
Status read_unchanged(const TensorView& tensor, uint32_t fraction_bits, uint64_t first, std::span<int64_t> out);
// The same as two entries each, so that no 64-bit integer is too large for a proof: v = low + 2^32 high, 0 <= low <
// 2^32.
Status read_unchanged_split(const TensorView& tensor, uint32_t fraction_bits, uint64_t first, std::span<int64_t> out);

}  // namespace zkapex
