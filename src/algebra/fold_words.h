// The inner loop of fold_i64, which has more than one implementation. Plain data only: see fold_kernels.h.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zkapex::fold_words {

// out[l] = Σ_r w_r (V[r][l] + 2^63) mod l, w_r being the four words of weight r, for l < cols; row r of V begins at
// values + r · stride.
using Fold = void (*)(const int64_t* values, size_t stride, size_t cols, const uint64_t* weights, size_t rows,
                      uint64_t* out);

void fold_portable(const int64_t* values, size_t stride, size_t cols, const uint64_t* weights, size_t rows,
                   uint64_t* out);
#if defined(__x86_64__)
void fold_avx512(const int64_t* values, size_t stride, size_t cols, const uint64_t* weights, size_t rows,
                 uint64_t* out);
#endif

}  // namespace zkapex::fold_words
