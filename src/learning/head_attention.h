// Attention among few tokens on the CPU. libtorch without MKL calls a BLAS once for each head of each sample, which
// for an image of seventeen tokens takes longer than all the rest of a block.
#pragma once

#include "learning/tensor.h"

namespace zkapex {

// Whether attend() can be used, and pays, for tokens x, [n, t, hidden].
[[nodiscard]] bool few_tokens(const Tensor& x, int64_t heads);

// k and v are [n, t, hidden], heads side by side, and q has those of the tokens that ask. softmax(q kᵀ / √d) v of each
// head; can be differentiated once.
[[nodiscard]] Tensor attend(const Tensor& q, const Tensor& k, const Tensor& v, int64_t heads);

}  // namespace zkapex
