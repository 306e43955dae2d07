// Everything here has internal linkage but kAvx2: no code compiled for AVX2 may be shared with other files.
#include "algebra/fold_kernels.h"

#if defined(__x86_64__)

#include <immintrin.h>

namespace zkapex::fold_kernels {

namespace {

const char* row_of(const Entries& entries, size_t row) {
  return static_cast<const char*>(entries.data) + row * entries.stride;
}

__m128i load16(const char* p) { return _mm_loadu_si128(reinterpret_cast<const __m128i*>(p)); }
__m256i load32(const char* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }

// What a lane sees of sixteen entries: 16-bit factors, and the power of two that the sum is multiplied by.
struct Narrow {
  static constexpr size_t kEntryBytes = 1;
  static constexpr int kShift = 0;
  static __m256i load(const char* p) { return _mm256_cvtepi8_epi16(load16(p)); }
};
struct WideHigh {
  static constexpr size_t kEntryBytes = 2;
  static constexpr int kShift = 8;
  static __m256i load(const char* p) { return _mm256_srai_epi16(load32(p), 8); }
};
struct WideLow {
  static constexpr size_t kEntryBytes = 2;
  static constexpr int kShift = 0;
  static __m256i load(const char* p) { return _mm256_and_si256(load32(p), _mm256_set1_epi16(255)); }
};

// ---- rows: a tile of entries is packed so that each 32-bit lane holds two rows of one column.

// tile: [group][pair of rows][column of the group][row of the pair]. `first` is the group's first entry in the even
// row.
template <size_t kEntryBytes>
void pack_group(const char* first, size_t stride, char* out) {
  for (size_t half = 0; half < kEntryBytes; ++half) {
    const __m128i even = load16(first + 16 * half), odd = load16(first + stride + 16 * half);
    auto* pair = reinterpret_cast<__m128i*>(out + 32 * half);
    _mm_store_si128(pair, kEntryBytes == 1 ? _mm_unpacklo_epi8(even, odd) : _mm_unpacklo_epi16(even, odd));
    _mm_store_si128(pair + 1, kEntryBytes == 1 ? _mm_unpackhi_epi8(even, odd) : _mm_unpackhi_epi16(even, odd));
  }
}

template <size_t kEntryBytes>
void pack(const Entries& entries, char* tile) {
  constexpr size_t kGroupBytes = kGroup * kEntryBytes;
  constexpr size_t kAhead = 16;  // rows to prefetch ahead: rows are far apart, the hardware does not see the pattern
  const size_t pairs = (entries.rows + 1) / 2, groups = (entries.cols + kGroup - 1) / kGroup;
  const size_t full = entries.cols / kGroup, rest = entries.cols % kGroup * kEntryBytes;
  for (size_t pair = 0; pair < pairs; ++pair, tile += 2 * kGroupBytes) {
    const char* even = row_of(entries, 2 * pair);
    if (2 * pair + 1 + kAhead < entries.rows) {
      for (size_t at = 0; at < entries.cols * kEntryBytes; at += 64) {
        _mm_prefetch(even + kAhead * entries.stride + at, _MM_HINT_T0);
        _mm_prefetch(even + (kAhead + 1) * entries.stride + at, _MM_HINT_T0);
      }
    }
    const bool has_odd = 2 * pair + 1 < entries.rows;
    const size_t direct = has_odd ? full : 0;
    for (size_t group = 0; group < direct; ++group) {
      pack_group<kEntryBytes>(even + group * kGroupBytes, entries.stride, tile + group * pairs * 2 * kGroupBytes);
    }
    // What would read past the matrix goes through a buffer of zeros: a missing odd row, a last part of a group.
    for (size_t group = direct; group < groups; ++group) {
      alignas(16) char rows[2][kGroupBytes] = {};
      const size_t bytes = group < full ? kGroupBytes : rest;
      __builtin_memcpy(rows[0], even + group * kGroupBytes, bytes);
      if (has_odd) __builtin_memcpy(rows[1], even + entries.stride + group * kGroupBytes, bytes);
      pack_group<kEntryBytes>(rows[0], kGroupBytes, tile + group * pairs * 2 * kGroupBytes);
    }
  }
}

void add_lanes(int64_t* sums, __m256i lanes, int shift) {
  auto* out = reinterpret_cast<__m256i*>(sums);
  const __m256i low = _mm256_cvtepi32_epi64(_mm256_castsi256_si128(lanes));
  const __m256i high = _mm256_cvtepi32_epi64(_mm256_extracti128_si256(lanes, 1));
  _mm256_storeu_si256(out, _mm256_add_epi64(_mm256_loadu_si256(out), _mm256_slli_epi64(low, shift)));
  _mm256_storeu_si256(out + 1, _mm256_add_epi64(_mm256_loadu_si256(out + 1), _mm256_slli_epi64(high, shift)));
}

// sum += the products of neighbouring 16-bit lanes. The empty assembly keeps the sum in its register and the steps in
// order; GCC 12 otherwise gathers all products first, runs out of registers and keeps a sum in memory.
void multiply_add(__m256i& sum, __m256i a, __m256i b) {
  sum = _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
  asm volatile("" : "+x"(sum));
}

// One group of columns, four digits: eight vectors of sums stay in registers.
template <class Lane>
void multiply_group(const char* tile, size_t pairs, const int16_t* digits, int64_t* sums) {
  constexpr size_t kHalf = kGroup * Lane::kEntryBytes;  // bytes of eight columns of a pair of rows
  __m256i left[kPassDigits], right[kPassDigits];
  for (size_t d = 0; d < kPassDigits; ++d) left[d] = right[d] = _mm256_setzero_si256();
  for (size_t pair = 0; pair < pairs; ++pair, tile += 2 * kHalf, digits += 2 * kPassDigits) {
    const __m256i a = Lane::load(tile), b = Lane::load(tile + kHalf);
#pragma GCC unroll 4
    for (size_t d = 0; d < kPassDigits; ++d) {
      int32_t both;
      __builtin_memcpy(&both, digits + 2 * d, sizeof(both));
      const __m256i weight = _mm256_set1_epi32(both);
      multiply_add(left[d], a, weight);
      multiply_add(right[d], b, weight);
    }
  }
  for (size_t d = 0; d < kPassDigits; ++d) {
    add_lanes(sums + d * kGroup, left[d], Lane::kShift);
    add_lanes(sums + d * kGroup + kGroup / 2, right[d], Lane::kShift);
  }
}

void rows(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  alignas(32) char tile[kPanel * kBlockRows * sizeof(int16_t)];
  entries.wide ? pack<2>(entries, tile) : pack<1>(entries, tile);
  const size_t pairs = (entries.rows + 1) / 2, groups = (entries.cols + kGroup - 1) / kGroup;
  for (size_t group = 0; group < groups; ++group) {
    // Above the diagonal there is nothing to add: rows from the group's first column less the band on.
    const auto above = static_cast<ptrdiff_t>(group * kGroup) - entries.band;
    const size_t skip = above <= 0 ? 0 : static_cast<size_t>(above) / 2;
    if (skip >= pairs) continue;
    const char* entry = tile + (group * pairs + skip) * 2 * kGroup * (entries.wide ? 2 : 1);
    for (size_t pass = 0; pass < passes; ++pass) {
      const int16_t* digit = digits + (pass * pairs + skip) * kPassDigits * 2;
      int64_t* sum = sums + (group * kDigits + pass * kPassDigits) * kGroup;
      if (entries.wide) {
        multiply_group<WideHigh>(entry, pairs - skip, digit, sum);
        multiply_group<WideLow>(entry, pairs - skip, digit, sum);
      } else {
        multiply_group<Narrow>(entry, pairs - skip, digit, sum);
      }
    }
  }
}

// ---- columns: the entries of a row meet the digits of sixteen neighbouring weights.

int64_t sum_of_lanes(__m256i lanes) {
  const __m256i pairs = _mm256_add_epi64(_mm256_cvtepi32_epi64(_mm256_castsi256_si128(lanes)),
                                         _mm256_cvtepi32_epi64(_mm256_extracti128_si256(lanes, 1)));
  const __m128i halves = _mm_add_epi64(_mm256_castsi256_si128(pairs), _mm256_extracti128_si256(pairs, 1));
  return _mm_cvtsi128_si64(halves) + _mm_extract_epi64(halves, 1);
}

// Two rows, four digits; `second` may be `first` again, for the last of an odd number of rows.
template <class Lane>
void multiply_rows(const char* first, const char* second, size_t cols, const int16_t* digits, size_t padded,
                   int64_t* first_sums, int64_t* second_sums) {
  __m256i one[kPassDigits], two[kPassDigits];
  for (size_t d = 0; d < kPassDigits; ++d) one[d] = two[d] = _mm256_setzero_si256();
  const auto step = [&](__m256i a, __m256i b, size_t col) {
#pragma GCC unroll 4
    for (size_t d = 0; d < kPassDigits; ++d) {
      const __m256i weight = load32(reinterpret_cast<const char*>(digits + d * padded + col));
      one[d] = _mm256_add_epi32(one[d], _mm256_madd_epi16(a, weight));
      two[d] = _mm256_add_epi32(two[d], _mm256_madd_epi16(b, weight));
    }
  };
  size_t col = 0;
  for (; col + kGroup <= cols; col += kGroup) {
    step(Lane::load(first + col * Lane::kEntryBytes), Lane::load(second + col * Lane::kEntryBytes), col);
  }
  if (col < cols) {
    alignas(32) char tails[2][kGroup * Lane::kEntryBytes] = {};
    __builtin_memcpy(tails[0], first + col * Lane::kEntryBytes, (cols - col) * Lane::kEntryBytes);
    __builtin_memcpy(tails[1], second + col * Lane::kEntryBytes, (cols - col) * Lane::kEntryBytes);
    step(Lane::load(tails[0]), Lane::load(tails[1]), col);
  }
  for (size_t d = 0; d < kPassDigits; ++d) {
    first_sums[d] += sum_of_lanes(one[d]) * (1 << Lane::kShift);
    if (second_sums != nullptr) second_sums[d] += sum_of_lanes(two[d]) * (1 << Lane::kShift);
  }
}

void columns(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  const size_t padded = (entries.cols + kGroup - 1) / kGroup * kGroup;
  for (size_t digit = 0; digit < passes * kPassDigits; digit += kPassDigits) {
    const int16_t* pass = digits + digit * padded;
    for (size_t row = 0; row < entries.rows; row += 2) {
      const bool pair = row + 1 < entries.rows;
      const char* first = row_of(entries, row);
      const char* second = pair ? row_of(entries, row + 1) : first;
      int64_t* first_sums = sums + row * kDigits + digit;
      int64_t* second_sums = pair ? first_sums + kDigits : nullptr;
      const ptrdiff_t live = static_cast<ptrdiff_t>(row) + (pair ? 2 : 1) + entries.band;  // columns up to the diagonal
      if (live <= 0) continue;
      const size_t cols = static_cast<size_t>(live) < entries.cols ? static_cast<size_t>(live) : entries.cols;
      if (entries.wide) {
        multiply_rows<WideHigh>(first, second, cols, pass, padded, first_sums, second_sums);
        multiply_rows<WideLow>(first, second, cols, pass, padded, first_sums, second_sums);
      } else {
        multiply_rows<Narrow>(first, second, cols, pass, padded, first_sums, second_sums);
      }
    }
  }
}

}  // namespace

const Kernels kAvx2 = {rows, columns};

}  // namespace zkapex::fold_kernels

#endif
