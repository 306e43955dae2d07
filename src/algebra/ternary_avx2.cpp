// maddubs multiplies bytes 0, 1 or 2 by signed bytes and adds pairs in 16 bits: at most 2 · 2 · 128 = 512 a step, so 32
// steps stay below 2^15.
#if defined(__x86_64__)
#include "algebra/ternary_walk.h"

namespace zkapex::ternary_kernels {

namespace {

struct Avx2Block {
  static constexpr size_t kRows = 2;

  static __m256i pairs_of(__m256i words) { return _mm256_madd_epi16(words, _mm256_set1_epi16(1)); }
  static __m256i add_quads(__m256i sums, __m256i unsigned_bytes, __m256i bytes) {
    return _mm256_add_epi32(sums, pairs_of(_mm256_maddubs_epi16(unsigned_bytes, bytes)));
  }

  template <size_t kCount, size_t kVectors>
  static void add(const Product& p, const Gathered& gathered, const uint32_t* live, size_t row, size_t vector,
                  int32_t* out) {
    constexpr size_t kSteps = 32;
    const uint8_t* matrix = p.matrix + row * p.cols;
    __m256i wide[kCount][kVectors] = {};
    for (size_t step = 0; step < gathered.steps;) {
      __m256i sums[kCount][kVectors] = {};
      const size_t end = gathered.steps - step < kSteps ? gathered.steps : step + kSteps;
      for (; step < end; ++step) {
        __m256i entries[kCount];
        for (size_t q = 0; q < kCount; ++q) entries[q] = load(matrix + q * p.cols + live[step]);
        for (size_t k = 0; k < kVectors; ++k) {
          const __m256i v = load(gathered.entries[vector + k] + step * kGroup);
          for (size_t q = 0; q < kCount; ++q) {
            sums[q][k] = _mm256_add_epi16(sums[q][k], _mm256_maddubs_epi16(entries[q], v));
          }
        }
      }
      for (size_t q = 0; q < kCount; ++q) {
        for (size_t k = 0; k < kVectors; ++k) wide[q][k] = _mm256_add_epi32(wide[q][k], pairs_of(sums[q][k]));
      }
    }
    for (size_t q = 0; q < kCount; ++q) {
      for (size_t k = 0; k < kVectors; ++k) out[(vector + k) * p.rows + row + q] += sum_of(wide[q][k]);
    }
  }
};

}  // namespace

void multiply_avx2(const Product& p, int32_t* out) { walk<Avx2Block>(p, out); }

}  // namespace zkapex::ternary_kernels
#endif
