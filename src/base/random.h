// Randomness of the operating system.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "base/result.h"

namespace zkapex {

// Fails only where the operating system gives no randomness; then nothing that needs a secret may go on.
[[nodiscard]] Status random_bytes(std::span<uint8_t> out);

template <size_t N>
[[nodiscard]] Result<std::array<uint8_t, N>> random_array() {
  std::array<uint8_t, N> out;
  ZKAPEX_CHECK(random_bytes(out));
  return out;
}

}  // namespace zkapex
