// maddubs multiplies bytes 0, 1 or 2 by signed bytes and adds pairs in 16 bits: at most 2 · 2 · 128 = 512 a step, so 32
// steps stay below 2^15.
#if defined(__x86_64__)
#include <immintrin.h>

#include "algebra/ternary_kernels.h"

namespace zkapex::ternary_kernels {

namespace {

constexpr size_t kSteps = 32;
constexpr size_t kWindow = 2 * kSteps;  // groups whose entries are brought together, to stay in the first cache
constexpr size_t kTogether = 8;         // vectors that share a row of the matrix while it is there

__m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

int32_t sum_of(__m256i wide) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
  return _mm_cvtsi128_si32(sum);
}
__m256i pairs_of(__m256i words) { return _mm256_madd_epi16(words, _mm256_set1_epi16(1)); }

// The vectors' entries in some groups, one group after the other.
struct Gathered {
  alignas(32) int8_t entries[kTogether][kWindow * kGroup];
  size_t steps;
};

// kRows rows of the matrix with kVectors of the vectors.
template <size_t kRows, size_t kVectors>
void add_block(const Product& p, const Gathered& gathered, const uint32_t* live, size_t row, size_t vector,
               int32_t* out) {
  const uint8_t* matrix = p.matrix + row * p.cols;
  __m256i wide[kRows][kVectors] = {};
  for (size_t step = 0; step < gathered.steps;) {
    __m256i sums[kRows][kVectors] = {};
    const size_t end = gathered.steps - step < kSteps ? gathered.steps : step + kSteps;
    for (; step < end; ++step) {
      __m256i entries[kRows];
      for (size_t q = 0; q < kRows; ++q) entries[q] = load(matrix + q * p.cols + live[step]);
      for (size_t k = 0; k < kVectors; ++k) {
        const __m256i v = load(gathered.entries[vector + k] + step * kGroup);
        for (size_t q = 0; q < kRows; ++q) {
          sums[q][k] = _mm256_add_epi16(sums[q][k], _mm256_maddubs_epi16(entries[q], v));
        }
      }
    }
    for (size_t q = 0; q < kRows; ++q) {
      for (size_t k = 0; k < kVectors; ++k) wide[q][k] = _mm256_add_epi32(wide[q][k], pairs_of(sums[q][k]));
    }
  }
  for (size_t q = 0; q < kRows; ++q) {
    for (size_t k = 0; k < kVectors; ++k) out[(vector + k) * p.rows + row + q] += sum_of(wide[q][k]);
  }
}

template <size_t kRows>
void add_rows(const Product& p, const Gathered& gathered, const uint32_t* live, size_t row, size_t count,
              int32_t* out) {
  size_t vector = 0;
  for (; vector + 4 <= count; vector += 4) add_block<kRows, 4>(p, gathered, live, row, vector, out);
  for (; vector < count; ++vector) add_block<kRows, 1>(p, gathered, live, row, vector, out);
}

// The ones that were added to the matrix.
void subtract_surplus(const Product& p, const Gathered& gathered, size_t vector, int32_t* out) {
  __m256i wide = _mm256_setzero_si256();
  for (size_t step = 0; step < gathered.steps; ++step) {
    const __m256i entries = load(gathered.entries[vector] + step * kGroup);
    wide = _mm256_add_epi32(wide, pairs_of(_mm256_maddubs_epi16(_mm256_set1_epi8(1), entries)));
  }
  const int32_t surplus = sum_of(wide);
  for (size_t q = 0; q < p.rows; ++q) out[vector * p.rows + q] -= surplus;
}

}  // namespace

void multiply_avx2(const Product& p, int32_t* out) {
  for (size_t k = 0; k < p.count * p.rows; ++k) out[k] = 0;
  Gathered gathered;
  for (size_t first = 0; first < p.live_count; first += kWindow) {
    const uint32_t* live = p.live + first;
    gathered.steps = p.live_count - first < kWindow ? p.live_count - first : kWindow;
    for (size_t vector = 0; vector < p.count; vector += kTogether) {
      const size_t count = p.count - vector < kTogether ? p.count - vector : kTogether;
      for (size_t k = 0; k < count; ++k) {
        const int8_t* entries = p.vectors + (vector + k) * p.stride;
        for (size_t step = 0; step < gathered.steps; ++step) {
          _mm256_store_si256(reinterpret_cast<__m256i*>(gathered.entries[k] + step * kGroup),
                             load(entries + live[step]));
        }
      }
      int32_t* to = out + vector * p.rows;
      size_t row = 0;
      for (; row + 2 <= p.rows; row += 2) add_rows<2>(p, gathered, live, row, count, to);
      for (; row < p.rows; ++row) add_rows<1>(p, gathered, live, row, count, to);
      for (size_t k = 0; k < count; ++k) subtract_surplus(p, gathered, k, to);
    }
  }
}

}  // namespace zkapex::ternary_kernels
#endif
