// With VNNI: one instruction multiplies 32 pairs of 16 bits and adds the products, two by two, to sixteen sums of 32
// bits. Everything here has internal linkage but kAvx512: no code compiled for AVX-512 may be shared with other files.
#include "algebra/fold_kernels.h"

#if defined(__x86_64__)

#include "algebra/lanes_avx512.h"

namespace zkapex::fold_kernels {

namespace {

// What sums of 32 bits see of entries in 16-bit lanes, and the power of two that the sum is multiplied by.
struct Narrow {
  static constexpr size_t kEntryBytes = 1;
  static constexpr unsigned kShift = 0;
  ZKAPEX_LANES __m512i part(__m512i entries) { return entries; }
};
struct WideHigh {
  static constexpr size_t kEntryBytes = 2;
  static constexpr unsigned kShift = 8;
  ZKAPEX_LANES __m512i part(__m512i entries) { return _mm512_srai_epi16(entries, 8); }
};
struct WideLow {
  static constexpr size_t kEntryBytes = 2;
  static constexpr unsigned kShift = 0;
  ZKAPEX_LANES __m512i part(__m512i entries) { return _mm512_and_si512(entries, _mm512_set1_epi16(255)); }
};

// sums[0 .. 15] += lanes · 2^shift
ZKAPEX_LANES void add_lanes(int64_t* sums, __m512i lanes, unsigned shift) {
  const __m512i low = _mm512_cvtepi32_epi64(_mm512_castsi512_si256(lanes));
  const __m512i high = _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(lanes, 1));
  _mm512_storeu_si512(sums, _mm512_add_epi64(_mm512_loadu_si512(sums), _mm512_slli_epi64(low, shift)));
  _mm512_storeu_si512(sums + 8, _mm512_add_epi64(_mm512_loadu_si512(sums + 8), _mm512_slli_epi64(high, shift)));
}

// ---- rows: each 32-bit lane holds two rows of one column.

// The panel's rows one after another, with zeros where it has no row or column: rows of a large matrix are far apart,
// and would share sets of the cache.
template <size_t kEntryBytes>
ZKAPEX_LANES void copy_panel(const Entries& entries, unsigned char* tile) {
  constexpr size_t kAhead = 16, kRowBytes = kPanel * kEntryBytes;
  const size_t bytes = entries.cols * kEntryBytes;
  for (size_t row = 0; row < entries.rows; ++row) {
    const auto* from = static_cast<const unsigned char*>(entries.data) + row * entries.stride;
    for (size_t at = 0; at < kRowBytes; at += 64) {
      if (row + kAhead < entries.rows && at < bytes) {
        _mm_prefetch(reinterpret_cast<const char*>(from) + kAhead * entries.stride + at, _MM_HINT_T0);
      }
      const __mmask64 there = at >= bytes ? 0 : bytes - at < 64 ? (uint64_t{1} << (bytes - at)) - 1 : ~uint64_t{0};
      _mm512_store_si512(tile + row * kRowBytes + at, _mm512_maskz_loadu_epi8(there, from + at));
    }
  }
  if (entries.rows % 2 != 0) __builtin_memset(tile + entries.rows * kRowBytes, 0, kRowBytes);
}

// Sixteen columns of two rows.
template <size_t kEntryBytes>
ZKAPEX_LANES __m512i interleave(const unsigned char* even, const unsigned char* odd) {
  const auto load = [](const unsigned char* p) __attribute__((always_inline)) {
    if constexpr (kEntryBytes == 1) return _mm512_cvtepi8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
    return _mm512_cvtepi16_epi32(_mm256_load_si256(reinterpret_cast<const __m256i*>(p)));
  };
  return _mm512_mask_blend_epi16(0xaaaaaaaa, load(even), _mm512_slli_epi32(load(odd), 16));
}

// One group of columns and the digits of `Passes`, whose sums stay in registers.
template <class Lane, size_t Passes>
ZKAPEX_LANES void multiply_group(const unsigned char* tile, size_t pairs, const int16_t* digits, size_t pass_stride,
                                 int64_t* sums) {
  constexpr size_t kRowBytes = kPanel * Lane::kEntryBytes;
  __m512i sum[Passes * kPassDigits];
  for (__m512i& s : sum) s = _mm512_setzero_si512();
  for (size_t pair = 0; pair < pairs; ++pair, tile += 2 * kRowBytes, digits += 2 * kPassDigits) {
    const __m512i entries = Lane::part(interleave<Lane::kEntryBytes>(tile, tile + kRowBytes));
#pragma GCC unroll 16
    for (size_t d = 0; d < Passes * kPassDigits; ++d) {
      int32_t both;
      __builtin_memcpy(&both, digits + d / kPassDigits * pass_stride + 2 * (d % kPassDigits), sizeof both);
      sum[d] = _mm512_dpwssd_epi32(sum[d], entries, _mm512_set1_epi32(both));
    }
  }
  for (size_t d = 0; d < Passes * kPassDigits; ++d) add_lanes(sums + d * kGroup, sum[d], Lane::kShift);
}

template <class Lane>
ZKAPEX_LANES void multiply_passes(const unsigned char* tile, size_t pairs, const int16_t* digits, size_t pass_stride,
                                  size_t passes, int64_t* sums) {
  size_t pass = 0;
  const auto next = [&](size_t count) {
    digits += count * pass_stride;
    sums += count * kPassDigits * kGroup;
    pass += count;
  };
  for (; pass + 4 <= passes; next(4)) multiply_group<Lane, 4>(tile, pairs, digits, pass_stride, sums);
  for (; pass < passes; next(1)) multiply_group<Lane, 1>(tile, pairs, digits, pass_stride, sums);
}

void rows(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  alignas(64) unsigned char tile[kPanel * kBlockRows * sizeof(int16_t)];
  const size_t bytes = entries.wide ? 2 : 1;
  entries.wide ? copy_panel<2>(entries, tile) : copy_panel<1>(entries, tile);
  const size_t pairs = (entries.rows + 1) / 2, groups = (entries.cols + kGroup - 1) / kGroup;
  const size_t pass_stride = pairs * kPassDigits * 2;
  for (size_t group = 0; group < groups; ++group) {
    // Above the diagonal there is nothing to add: rows from the group's first column less the band on.
    const auto above = static_cast<ptrdiff_t>(group * kGroup) - entries.band;
    const size_t skip = above <= 0 ? 0 : static_cast<size_t>(above) / 2;
    if (skip >= pairs) continue;
    const unsigned char* first = tile + (2 * skip * kPanel + group * kGroup) * bytes;
    const int16_t* digit = digits + skip * kPassDigits * 2;
    int64_t* sum = sums + group * kDigits * kGroup;
    if (entries.wide) {
      multiply_passes<WideHigh>(first, pairs - skip, digit, pass_stride, passes, sum);
      multiply_passes<WideLow>(first, pairs - skip, digit, pass_stride, passes, sum);
    } else {
      multiply_passes<Narrow>(first, pairs - skip, digit, pass_stride, passes, sum);
    }
  }
}

// ---- columns: the entries of a row meet the digits of 32 neighbouring weights.

// Lane i is the sum of the lanes of in[i].
ZKAPEX_LANES __m512i sums_of(const __m512i (&in)[16]) {
  __m512i pairs[8], fours[4];
  for (int k = 0; k < 8; ++k) {
    pairs[k] = _mm512_add_epi32(_mm512_unpacklo_epi32(in[2 * k], in[2 * k + 1]),
                                _mm512_unpackhi_epi32(in[2 * k], in[2 * k + 1]));
  }
  for (int k = 0; k < 4; ++k) {
    fours[k] = _mm512_add_epi32(_mm512_unpacklo_epi64(pairs[2 * k], pairs[2 * k + 1]),
                                _mm512_unpackhi_epi64(pairs[2 * k], pairs[2 * k + 1]));
  }
  // In every 128 bits of fours[k] are the sums of in[4 k .. 4 k + 3] over those bits.
  const auto halves = [](__m512i a, __m512i b) __attribute__((always_inline)) {
    return _mm512_add_epi32(_mm512_shuffle_i32x4(a, b, 0x88), _mm512_shuffle_i32x4(a, b, 0xdd));
  };
  return halves(halves(fours[0], fours[1]), halves(fours[2], fours[3]));
}

// 32 entries, of which `there` are, as 16-bit lanes.
template <size_t kEntryBytes>
ZKAPEX_LANES __m512i load_entries(const char* p, __mmask32 there) {
  if constexpr (kEntryBytes == 1) return _mm512_cvtepi8_epi16(_mm256_maskz_loadu_epi8(there, p));
  return _mm512_maskz_loadu_epi16(there, p);
}

// 16 / Digits rows, of which `count` are there and get their sums. Sums of 256 columns fit 32 bits.
template <class Lane, size_t Digits>
ZKAPEX_LANES void multiply_rows(const char* first, size_t stride, size_t count, size_t cols, const int16_t* digits,
                                size_t padded, int64_t* sums) {
  constexpr size_t kRows = 16 / Digits, kBlock = 256;
  const char* row[kRows];
  for (size_t r = 0; r < kRows; ++r) row[r] = first + (r < count ? r : count - 1) * stride;
  for (size_t block = 0; block < cols; block += kBlock) {
    __m512i sum[16];
    for (__m512i& s : sum) s = _mm512_setzero_si512();
    const size_t end = cols - block < kBlock ? cols : block + kBlock;
    for (size_t col = block; col < end; col += 32) {
      const __mmask32 there = end - col < 32 ? (uint32_t{1} << (end - col)) - 1 : ~uint32_t{0};
      __m512i entries[kRows];
      for (size_t r = 0; r < kRows; ++r) {
        entries[r] = Lane::part(load_entries<Lane::kEntryBytes>(row[r] + col * Lane::kEntryBytes, there));
      }
#pragma GCC unroll 16
      for (size_t d = 0; d < Digits; ++d) {
        const __m512i weights = _mm512_maskz_loadu_epi16(there, digits + d * padded + col);
#pragma GCC unroll 4
        for (size_t r = 0; r < kRows; ++r) {
          sum[r * Digits + d] = _mm512_dpwssd_epi32(sum[r * Digits + d], entries[r], weights);
        }
      }
    }
    alignas(64) int64_t all_sums[16] = {};
    add_lanes(all_sums, sums_of(sum), Lane::kShift);
    for (size_t r = 0; r < count; ++r) {
      for (size_t d = 0; d < Digits; ++d) sums[r * kDigits + d] += all_sums[r * Digits + d];
    }
  }
}

template <size_t Digits>
ZKAPEX_LANES void multiply_all_rows(const Entries& entries, const int16_t* digits, size_t padded, int64_t* sums) {
  constexpr size_t kRows = 16 / Digits;
  for (size_t row = 0; row < entries.rows; row += kRows) {
    const size_t count = entries.rows - row < kRows ? entries.rows - row : kRows;
    const ptrdiff_t live = static_cast<ptrdiff_t>(row + count) + entries.band;  // columns up to the diagonal
    if (live <= 0) continue;
    const size_t cols = static_cast<size_t>(live) < entries.cols ? static_cast<size_t>(live) : entries.cols;
    const char* first = static_cast<const char*>(entries.data) + row * entries.stride;
    int64_t* sum = sums + row * kDigits;
    if (entries.wide) {
      multiply_rows<WideHigh, Digits>(first, entries.stride, count, cols, digits, padded, sum);
      multiply_rows<WideLow, Digits>(first, entries.stride, count, cols, digits, padded, sum);
    } else {
      multiply_rows<Narrow, Digits>(first, entries.stride, count, cols, digits, padded, sum);
    }
  }
}

void columns(const Entries& entries, const int16_t* digits, size_t passes, int64_t* sums) {
  const size_t padded = (entries.cols + kGroup - 1) / kGroup * kGroup;
  size_t digit = 0;
  for (; digit + 16 <= passes * kPassDigits; digit += 16) {
    multiply_all_rows<16>(entries, digits + digit * padded, padded, sums + digit);
  }
  for (; digit < passes * kPassDigits; digit += 4) {
    multiply_all_rows<4>(entries, digits + digit * padded, padded, sums + digit);
  }
}

}  // namespace

// triangles_avx512.cpp
void triangle_rows(const int8_t* entries, size_t block, const int16_t* digits, int64_t* sums);
void triangle_columns(const int8_t* entries, size_t block, const int16_t* digits, int64_t* sums);
void join_groups(const int64_t* sums, size_t count, const uint64_t* factor, uint64_t* out);

const Kernels kAvx512 = {rows, columns, triangle_rows, triangle_columns, join_groups};

}  // namespace zkapex::fold_kernels

#endif
