// Powers of two.
#pragma once

#include <bit>
#include <cstdint>

namespace zkapex {

// ⌈log2 v⌉, v > 0: how many variables index v things.
[[nodiscard]] constexpr unsigned log2_ceil(uint64_t v) { return static_cast<unsigned>(std::bit_width(v - 1)); }

}  // namespace zkapex
