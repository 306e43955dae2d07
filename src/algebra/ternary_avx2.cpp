#if defined(__x86_64__)
#include <immintrin.h>

#include "algebra/ternary_blocks.h"

namespace zkapex::ternary_kernels {

namespace {

// maddubs multiplies bytes 0, 1 or 2 by signed bytes and adds pairs in 16 bits: at most 2 · 2 · 128 = 512 a step, so 32
// steps stay below 2^15.
struct Avx2Lanes {
  static constexpr size_t kSteps = 32, kRows = 2;
  using Group = __m256i;
  using Sums = __m256i;
  using WideSums = __m256i;

  static Group load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }
  static Group ones() { return _mm256_set1_epi8(1); }
  static Sums add_products(Sums sums, Group matrix, Group vector) {
    return _mm256_add_epi16(sums, _mm256_maddubs_epi16(matrix, vector));
  }
  static WideSums widen(WideSums wide, Sums sums) {
    return _mm256_add_epi32(wide, _mm256_madd_epi16(sums, _mm256_set1_epi16(1)));
  }
  static int32_t total(WideSums wide) {
    __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
    sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
    return _mm_cvtsi128_si32(sum);
  }
};

}  // namespace

void multiply_avx2(const Product& p, int32_t* out) { Blocks<Avx2Lanes>::multiply(p, out); }

}  // namespace zkapex::ternary_kernels
#endif
