// dpbusd (VNNI) multiplies bytes 0, 1 or 2 by signed bytes and adds four products to a sum of 32 bits: at most 2^10 a
// step and 2^11 steps. Thirty-two registers hold a block of 4 x 4 sums.
#if defined(__x86_64__)
#include "algebra/ternary_walk.h"

namespace zkapex::ternary_kernels {

namespace {

struct Avx512Block {
  static constexpr size_t kRows = 4;

  static __m256i add_quads(__m256i sums, __m256i unsigned_bytes, __m256i bytes) {
    // Of the intrinsic, GCC 12 copies all sums to other registers and back in each step.
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(unsigned_bytes), "v"(bytes));
    return sums;
  }

  template <size_t kCount, size_t kVectors>
  static void add(const Product& p, const Gathered& gathered, const uint32_t* live, size_t row, size_t vector,
                  int32_t* out) {
    const uint8_t* matrix = p.matrix + row * p.cols;
    __m256i sums[kCount][kVectors] = {};
    for (size_t step = 0; step < gathered.steps; ++step) {
      __m256i entries[kCount];
      for (size_t q = 0; q < kCount; ++q) entries[q] = load(matrix + q * p.cols + live[step]);
      for (size_t k = 0; k < kVectors; ++k) {
        const __m256i v = load(gathered.entries[vector + k] + step * kGroup);
        for (size_t q = 0; q < kCount; ++q) sums[q][k] = add_quads(sums[q][k], entries[q], v);
      }
    }
    for (size_t q = 0; q < kCount; ++q) {
      for (size_t k = 0; k < kVectors; ++k) out[(vector + k) * p.rows + row + q] += sum_of(sums[q][k]);
    }
  }
};

}  // namespace

void multiply_avx512(const Product& p, int32_t* out) { walk<Avx512Block>(p, out); }

}  // namespace zkapex::ternary_kernels
#endif
