// The inner loop of ternary.h, one for each instruction set. Plain data only: this header is compiled with AVX2 enabled
// too, so it must not pull in inline functions that the rest of the program shares.
#pragma once

#include <cstddef>
#include <cstdint>

namespace zkapex::ternary_kernels {

inline constexpr size_t kGroup = 32;  // columns that are looked at together

struct Product {
  const uint8_t* matrix;  // entries plus one: 0, 1 or 2
  size_t rows, cols;      // cols is a multiple of kGroup, at most 2^16
  const int8_t* vectors;
  size_t count, stride;  // entries from a vector to the next
  const uint32_t* live;  // first columns of groups; in all others every vector is zero
  size_t live_count;
};

// out[k · rows + q] = Σ_l (matrix[q][l] − 1) vector_k[l]
using Multiply = void (*)(const Product& product, int32_t* out);

void multiply_portable(const Product& product, int32_t* out);
#if defined(__x86_64__)
void multiply_avx2(const Product& product, int32_t* out);
void multiply_avx512(const Product& product, int32_t* out);
#elif defined(__aarch64__)
void multiply_neon(const Product& product, int32_t* out);
#endif

}  // namespace zkapex::ternary_kernels
