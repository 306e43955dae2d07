#if defined(__x86_64__)
#include <immintrin.h>

#include "algebra/ternary_blocks.h"

namespace zkapex::ternary_kernels {

namespace {

// dpbusd (VNNI) multiplies bytes 0, 1 or 2 by signed bytes and adds four products to 32 bits: at most 2^10 a step, and
// there are 2^11 at most. Thirty-two registers have room for the sums of 4 x 4.
struct Avx512Lanes {
  static constexpr size_t kSteps = 64, kRows = 4;
  using Group = __m256i;
  using Sums = __m256i;
  using WideSums = __m256i;

  static Group load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static Group ones() { return _mm256_set1_epi8(1); }
  static Sums add_products(Sums sums, Group matrix, Group vector) {
    // Of the intrinsic, GCC 12 copies all sums to other registers and back in each step.
    asm("vpdpbusd %2, %1, %0" : "+v"(sums) : "v"(matrix), "v"(vector));
    return sums;
  }
  static WideSums widen(WideSums wide, Sums sums) { return _mm256_add_epi32(wide, sums); }
  static int32_t total(WideSums wide) {
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    return _mm_cvtsi128_si32(sum);
  }
};

}  // namespace

void multiply_avx512(const Product& p, int32_t* out) { Blocks<Avx512Lanes>::multiply(p, out); }

}  // namespace zkapex::ternary_kernels
#endif
