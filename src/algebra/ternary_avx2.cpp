// maddubs multiplies bytes 0, 1 or 2 by signed bytes and adds pairs in 16 bits: at most 2 · 2 · 128 = 512 a step, so 32
// steps stay below 2^15.
#if defined(__x86_64__)
#include <immintrin.h>

#include "algebra/ternary_kernels.h"

namespace zkapex::ternary_kernels {

namespace {

constexpr size_t kSteps = 32;

__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

int32_t sum_of(__m256i words) {
  const __m256i pairs = _mm256_madd_epi16(words, _mm256_set1_epi16(1));
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
  return _mm_cvtsi128_si32(sum);
}

// kRows rows of the matrix with kVectors vectors, over at most kSteps groups.
template <size_t kRows, size_t kVectors>
void add_block(const Product& p, size_t row, size_t vector, const uint32_t* live, size_t steps, int32_t* out) {
  __m256i sums[kRows][kVectors];
  for (auto& of_row : sums) {
    for (__m256i& sum : of_row) sum = _mm256_setzero_si256();
  }
  const uint8_t* matrix = p.matrix + row * p.cols;
  const int8_t* vectors = p.vectors + vector * p.stride;
  for (size_t step = 0; step < steps; ++step) {
    __m256i entries[kRows];
    for (size_t q = 0; q < kRows; ++q) entries[q] = load(matrix + q * p.cols + live[step]);
    for (size_t k = 0; k < kVectors; ++k) {
      const __m256i v = load(vectors + k * p.stride + live[step]);
      for (size_t q = 0; q < kRows; ++q) {
        sums[q][k] = _mm256_add_epi16(sums[q][k], _mm256_maddubs_epi16(entries[q], v));
      }
    }
  }
  for (size_t q = 0; q < kRows; ++q) {
    for (size_t k = 0; k < kVectors; ++k) out[(vector + k) * p.rows + row + q] += sum_of(sums[q][k]);
  }
}

template <size_t kVectors>
void add_vectors(const Product& p, size_t vector, const uint32_t* live, size_t steps, int32_t* out) {
  size_t row = 0;
  for (; row + 2 <= p.rows; row += 2) add_block<2, kVectors>(p, row, vector, live, steps, out);
  for (; row < p.rows; ++row) add_block<1, kVectors>(p, row, vector, live, steps, out);
  for (size_t k = vector; k < vector + kVectors; ++k) {  // the ones that were added to the matrix
    __m256i sum = _mm256_setzero_si256();
    for (size_t step = 0; step < steps; ++step) {
      sum =
          _mm256_add_epi16(sum, _mm256_maddubs_epi16(_mm256_set1_epi8(1), load(p.vectors + k * p.stride + live[step])));
    }
    const int32_t surplus = sum_of(sum);
    for (size_t q = 0; q < p.rows; ++q) out[k * p.rows + q] -= surplus;
  }
}

}  // namespace

void multiply_avx2(const Product& p, int32_t* out) {
  for (size_t k = 0; k < p.count * p.rows; ++k) out[k] = 0;
  for (size_t first = 0; first < p.live_count; first += kSteps) {
    const size_t steps = p.live_count - first < kSteps ? p.live_count - first : kSteps;
    size_t vector = 0;
    for (; vector + 4 <= p.count; vector += 4) add_vectors<4>(p, vector, p.live + first, steps, out);
    for (; vector < p.count; ++vector) add_vectors<1>(p, vector, p.live + first, steps, out);
  }
}

}  // namespace zkapex::ternary_kernels
#endif
