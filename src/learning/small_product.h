// Products of matrices with a few dozen rows and columns, where a call of a BLAS takes longer than the work.
#pragma once

#include <cstddef>

#include "base/cpu.h"

namespace zkapex {

inline constexpr size_t kSmallColumns = 8;  // columns come in multiples of this

// Rows are `stride` numbers apart.
struct SmallMatrix {
  const float* data;
  size_t stride;
};

// out[i][j] = sum over k < inner of a[i][k] b[k][j], k rising, for i < rows and j < columns. `out` overlaps nothing.
using SmallProduct = void (*)(size_t rows, size_t inner, size_t columns, SmallMatrix a, SmallMatrix b, float* out,
                              size_t out_stride);
[[nodiscard]] SmallProduct small_product(InstructionSet set = instruction_set());

}  // namespace zkapex
