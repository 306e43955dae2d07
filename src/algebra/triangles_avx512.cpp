// Folds of packed triangles with VNNI, and digits' sums put together with IFMA, eight at a time. Nothing but the three
// kernels that fold_avx512.cpp offers is shared with other files.
#include "algebra/fold_kernels.h"

#if defined(__x86_64__)

#include "algebra/scalar8_avx512.h"

namespace zkapex::fold_kernels {

void triangle_rows(const int8_t* entries, size_t block, const int16_t* digits, int64_t* sums);
void triangle_columns(const int8_t* entries, size_t block, const int16_t* digits, int64_t* sums);
void join_groups(const int64_t* sums, size_t count, const uint64_t* factor, uint64_t* out);

namespace {

constexpr size_t kPairDigits = 2 * kDigits;  // of a pair of weights

ZKAPEX_LANES size_t least(size_t a, size_t b) { return a < b ? a : b; }
ZKAPEX_LANES const int8_t* row_at(const int8_t* entries, size_t row) { return entries + row * (row + 1) / 2; }

ZKAPEX_LANES void clear(__m512i (&sums)[kDigits]) {
  for (__m512i& sum : sums) sum = _mm512_setzero_si512();
}
ZKAPEX_LANES void add_to(int64_t* sums, __m512i more) {
  _mm512_storeu_si512(sums, _mm512_add_epi64(_mm512_loadu_si512(sums), more));
}
ZKAPEX_LANES __m512i low_half(__m512i lanes) { return _mm512_cvtepi32_epi64(_mm512_castsi512_si256(lanes)); }
ZKAPEX_LANES __m512i high_half(__m512i lanes) { return _mm512_cvtepi32_epi64(_mm512_extracti64x4_epi64(lanes, 1)); }

// The first `there` ≤ 16 of sixteen entries, the others zero.
ZKAPEX_LANES __m512i some_entries(const int8_t* p, size_t there) {
  return _mm512_cvtepi8_epi32(_mm_maskz_loadu_epi8(static_cast<__mmask16>((1U << there) - 1), p));
}
ZKAPEX_LANES __m512i all_entries(const int8_t* p) {
  return _mm512_cvtepi8_epi32(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
ZKAPEX_LANES __m512i in_pairs(__m512i even, __m512i odd) {
  return _mm512_mask_blend_epi16(0xaaaaaaaa, even, _mm512_slli_epi32(odd, 16));
}

// Two rows of sixteen columns, with all digits of their weights.
ZKAPEX_LANES void multiply_pair(__m512i (&sums)[kDigits], __m512i entries, const int16_t* digits) {
#pragma GCC unroll 16
  for (size_t d = 0; d < kDigits; ++d) {
    int32_t both;
    __builtin_memcpy(&both, digits + 2 * d, sizeof both);
    sums[d] = _mm512_dpwssd_epi32(sums[d], entries, _mm512_set1_epi32(both));
  }
}

}  // namespace

// Sixteen columns at a time, from the diagonal down; sums of kBlockRows rows fit 32 bits.
void triangle_rows(const int8_t* entries, size_t block, const int16_t* digits, int64_t* sums) {
  for (size_t col = 0; col < block; col += kGroup, sums += kGroup * kDigits) {
    for (size_t first = col; first < block; first += kBlockRows) {
      const size_t end = least(block, first + kBlockRows);
      __m512i sum[kDigits];
      clear(sum);
      size_t row = first;
      for (; row < end && row < col + kGroup; row += 2) {  // whose entries end before the group does
        const __m512i even = some_entries(row_at(entries, row) + col, least(kGroup, row + 1 - col));
        const __m512i odd = row + 1 < end ? some_entries(row_at(entries, row + 1) + col, least(kGroup, row + 2 - col))
                                          : _mm512_setzero_si512();
        multiply_pair(sum, in_pairs(even, odd), digits + row / 2 * kPairDigits);
      }
      const int8_t* p = row_at(entries, row) + col;
      for (; row + 1 < end; p += 2 * row + 3, row += 2) {
        multiply_pair(sum, in_pairs(all_entries(p), all_entries(p + row + 1)), digits + row / 2 * kPairDigits);
      }
      if (row < end) {
        const __m512i even = some_entries(row_at(entries, row) + col, least(kGroup, row + 1 - col));
        multiply_pair(sum, in_pairs(even, _mm512_setzero_si512()), digits + row / 2 * kPairDigits);
      }
      for (size_t d = 0; d < kDigits; ++d) {
        add_to(sums + d * kGroup, low_half(sum[d]));
        add_to(sums + d * kGroup + 8, high_half(sum[d]));
      }
    }
  }
}

// Sixteen rows at a time, the lanes of whose sums are digits.
void triangle_columns(const int8_t* entries, size_t block, const int16_t* digits, int64_t* sums) {
  constexpr size_t kCols = 256;  // sums over so many fit 32 bits
  for (size_t first = 0; first < block; first += kGroup, sums += kGroup * kDigits) {
    const size_t rows = least(kGroup, block - first);
    for (size_t col = 0; col < first + rows; col += kCols) {
      const size_t cols = least(kCols, first + rows - col);
      alignas(64) int16_t tile[kGroup][kCols];  // zero beyond the diagonal
      for (size_t r = 0; r < kGroup; ++r) {
        const size_t live = r < rows && first + r >= col ? first + r + 1 - col : 0;
        for (size_t k = 0; k < cols; k += 32) {
          const size_t there = live < k ? 0 : least(32, live - k);
          const auto mask = static_cast<__mmask32>((uint64_t{1} << there) - 1);
          const __m256i some = _mm256_maskz_loadu_epi8(mask, row_at(entries, first + r) + col + k);
          _mm512_store_si512(&tile[r][k], _mm512_cvtepi8_epi16(some));
        }
      }
      __m512i sum[kGroup];
      clear(sum);
      for (size_t k = 0; k < cols; k += 2) {
        const __m512i weights = _mm512_loadu_si512(digits + (col + k) * kDigits);
#pragma GCC unroll 16
        for (size_t r = 0; r < kGroup; ++r) {
          int32_t both;
          __builtin_memcpy(&both, &tile[r][k], sizeof both);
          sum[r] = _mm512_dpwssd_epi32(sum[r], weights, _mm512_set1_epi32(both));
        }
      }
      for (size_t half = 0; half < 2; ++half) {  // of the rows
        __m512i low[8], high[8], digit[8];
        for (size_t r = 0; r < 8; ++r) {
          low[r] = low_half(sum[8 * half + r]);
          high[r] = high_half(sum[8 * half + r]);
        }
        transpose(low, digit);
        for (size_t d = 0; d < 8; ++d) add_to(sums + d * kGroup + 8 * half, digit[d]);
        transpose(high, digit);
        for (size_t d = 0; d < 8; ++d) add_to(sums + (8 + d) * kGroup + 8 * half, digit[d]);
      }
    }
  }
}

namespace {

// 2^264 mod l: what turns words of Scalars into multipliers of this R.
constexpr uint64_t kFromWords[4] = {0x31e0bd4affb703ed, 0x25410faf292a3755, 0xfffffffffffffeb2, 0x0fffffffffffffff};
// l 2^51, more than all digits' sums are together: in six limbs.
constexpr uint64_t kPositive[6] = {0x8000000000000, 0x9318d2e7ae9f6, 0xef517bce6b2c0, 0xa6f7c, 0, 0x80000000000};

// Σ_k sums[k] 2^(16 k) + l 2^51: five limbs, and a sixth.
ZKAPEX_LANES Sc8 positive_limbs(const int64_t* sums, __m512i* sixth) {
  __m512i carry = _mm512_setzero_si512(), words[4];
  for (size_t k = 0; k < 4; ++k) {
    words[k] = _mm512_setzero_si512();
    for (unsigned d = 0; d < 4; ++d) {
      const __m512i sum = _mm512_add_epi64(_mm512_loadu_si512(sums + (4 * k + d) * kGroup), carry);
      const __m512i digit = _mm512_and_si512(sum, all(0xffff));
      words[k] = _mm512_or_si512(words[k], _mm512_slli_epi64(digit, 16 * d));
      carry = _mm512_srai_epi64(sum, 16);
    }
  }
  Sc8 out = from_words(words);
  // The carry is worth 2^256: four bits of it go to the fifth limb.
  out.v[4] = _mm512_or_si512(out.v[4], _mm512_slli_epi64(_mm512_and_si512(carry, all(15)), 48));
  __m512i rest = _mm512_setzero_si512();
  for (int k = 0; k < 5; ++k) {
    const __m512i column = _mm512_add_epi64(_mm512_add_epi64(out.v[k], all(kPositive[k])), rest);
    out.v[k] = _mm512_and_si512(column, all(kMask52));
    rest = _mm512_srli_epi64(column, 52);
  }
  *sixth = _mm512_add_epi64(_mm512_add_epi64(_mm512_srai_epi64(carry, 4), all(kPositive[5])), rest);
  return out;
}

}  // namespace

void join_groups(const int64_t* sums, size_t count, const uint64_t* factor, uint64_t* out) {
  const Sc8 low_factor = less_order(broadcast_scalar(factor) * broadcast_scalar(kFromWords));
  const Sc8 high_factor = low_factor * broadcast_scalar(kTimesR);
  for (size_t i = 0; i < count; i += 8) {
    __m512i sixth;
    const Sc8 limbs = positive_limbs(sums + i / kGroup * kGroup * kDigits + i % kGroup, &sixth);
    Sum8 sum = zero_sum();
    add_product(sum, limbs, low_factor);
    for (int j = 0; j < 5; ++j) {
      sum.v[j] = add_low(sum.v[j], sixth, high_factor.v[j]);
      sum.v[j + 1] = add_high(sum.v[j + 1], sixth, high_factor.v[j]);
    }
    // Below 2 l + 2^40: limbs < 2^260, factors < 2 l and the sixth < 2^45.
    const Sc8 joined = less_order(less_order(reduce(sum)));
    if (i + 8 <= count) {
      store_scalars(joined, out + 4 * i);
    } else {
      uint64_t last[8 * 4];
      store_scalars(joined, last);
      __builtin_memcpy(out + 4 * i, last, 4 * (count - i) * sizeof *last);
    }
  }
}

}  // namespace zkapex::fold_kernels

#endif
