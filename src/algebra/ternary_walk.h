// The walk over a ternary matrix in vectors of 32 bytes, for the files of one instruction set each, which say how a
// block of rows and vectors is multiplied. In an anonymous namespace: each file has its own, compiled for its set.
#pragma once

#include <immintrin.h>

#include "algebra/ternary_kernels.h"

namespace zkapex::ternary_kernels {
namespace {

constexpr size_t kWindow = 64;   // groups whose entries are brought together, to stay in the first cache
constexpr size_t kTogether = 8;  // vectors that share rows of the matrix while they are there

// The vectors' entries in some groups, one group after the other.
struct Gathered {
  alignas(32) int8_t entries[kTogether][kWindow * kGroup];
  size_t steps;
};

inline __m256i load(const void* from) { return _mm256_loadu_si256(static_cast<const __m256i*>(from)); }

inline int32_t sum_of(__m256i wide) {
  __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(wide), _mm256_extracti128_si256(wide, 1));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
  sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
  return _mm_cvtsi128_si32(sum);
}

// Block::add<kRows, kVectors> multiplies rows with vectors; Block::kRows is the most that it takes of rows.
template <class Block, size_t kRows>
void add_rows(const Product& p, const Gathered& gathered, const uint32_t* live, size_t row, size_t count,
              int32_t* out) {
  size_t vector = 0;
  for (; vector + 4 <= count; vector += 4) Block::template add<kRows, 4>(p, gathered, live, row, vector, out);
  for (; vector < count; ++vector) Block::template add<kRows, 1>(p, gathered, live, row, vector, out);
}

// The ones that were added to the matrix.
template <class Block>
void subtract_surplus(const Product& p, const Gathered& gathered, size_t vector, int32_t* out) {
  __m256i wide = _mm256_setzero_si256();
  for (size_t step = 0; step < gathered.steps; ++step) {
    wide = Block::add_quads(wide, _mm256_set1_epi8(1), load(gathered.entries[vector] + step * kGroup));
  }
  const int32_t surplus = sum_of(wide);
  for (size_t q = 0; q < p.rows; ++q) out[vector * p.rows + q] -= surplus;
}

template <class Block>
void walk(const Product& p, int32_t* out) {
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
      for (; row + Block::kRows <= p.rows; row += Block::kRows)
        add_rows<Block, Block::kRows>(p, gathered, live, row, count, to);
      for (; row < p.rows; ++row) add_rows<Block, 1>(p, gathered, live, row, count, to);
      for (size_t k = 0; k < count; ++k) subtract_surplus<Block>(p, gathered, k, to);
    }
  }
}

}  // namespace
}  // namespace zkapex::ternary_kernels
