// Powers of two, and multiples.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

namespace zkapex {

// ⌈log2 v⌉, v > 0: how many variables index v things.
[[nodiscard]] constexpr unsigned log2_ceil(uint64_t v) { return static_cast<unsigned>(std::bit_width(v - 1)); }

// The least multiple of `unit` that is not below n.
[[nodiscard]] constexpr size_t round_up(size_t n, size_t unit) { return (n + unit - 1) / unit * unit; }

}  // namespace zkapex
