// Weights as digits, and what digits' sums are put together to: for the folds of fold.h and triangles.h.
#pragma once

#include <span>

#include "algebra/fold_kernels.h"
#include "algebra/scalar.h"

namespace zkapex::fold_digits {

// w = sum of digit_i 2^(16 i), digits in [-2^15, 2^15); w < 2^253, so no carry leaves the last.
void split(const Scalar& weight, int16_t (&digits)[fold_kernels::kDigits]);

// sum of sums[i stride] 2^(16 i) mod l; each below 2^62 in size.
[[nodiscard]] Scalar join(const int64_t* sums, size_t stride);

// out[i] = what the digits' sums of column i are, in groups of columns as Kernels::rows has them; times a factor.
void join_groups(const fold_kernels::Kernels& kernels, std::span<const int64_t> sums, std::span<Scalar> out);
void join_groups(const fold_kernels::Kernels& kernels, std::span<const int64_t> sums, const Scalar& factor,
                 std::span<Scalar> out);

}  // namespace zkapex::fold_digits
