// Weights times 64-bit integers by IFMA, sixteen columns at a time. Nothing but fold_avx512 is shared with other files.
#include "algebra/fold_words.h"

#if defined(__x86_64__)

#include "algebra/scalar8_avx512.h"

namespace zkapex::fold_words {

namespace {

constexpr uint64_t kR260[4] = {0x45af48bd6721e6ed, 0x35e51b3bab5ac67e, 0xffffffffffffffeb,
                               0x0fffffffffffffff};  // mod l
constexpr size_t kVectors = 2, kLanes = 8;

// A sum of products, in columns of 52 bits.
struct Columns8 {
  __m512i v[7];
};

ZKAPEX_LANES void tidy(Columns8& s) {
  for (int k = 0; k < 6; ++k) {
    s.v[k + 1] = _mm512_add_epi64(s.v[k + 1], _mm512_srli_epi64(s.v[k], 52));
    s.v[k] = _mm512_and_si512(s.v[k], all(kMask52));
  }
}

ZKAPEX_LANES void add_product(Columns8& s, const Sc8& weight, __m512i value) {
  const __m512i rest = _mm512_srli_epi64(value, 52);  // of the value multiplications take 52 bits
#pragma GCC unroll 5
  for (int j = 0; j < 5; ++j) s.v[j] = add_low(s.v[j], weight.v[j], value);
#pragma GCC unroll 5
  for (int j = 0; j < 5; ++j) s.v[j + 1] = add_high(s.v[j + 1], weight.v[j], value);
#pragma GCC unroll 5
  for (int j = 0; j < 5; ++j) s.v[j + 1] = add_low(s.v[j + 1], weight.v[j], rest);
#pragma GCC unroll 5
  for (int j = 0; j < 5; ++j) s.v[j + 2] = add_high(s.v[j + 2], weight.v[j], rest);
}

// The sum mod l; its last column is below 2^52.
ZKAPEX_LANES Sc8 reduced(Columns8& s) {
  const __m512i zero = _mm512_setzero_si512();
  tidy(s);
  const Sc8 low = {{s.v[0], s.v[1], s.v[2], s.v[3], s.v[4]}}, high = {{s.v[5], s.v[6], zero, zero, zero}};
  Sum8 sum = zero_sum();
  zkapex::add_product(sum, low, broadcast_scalar(kR260));
  zkapex::add_product(sum, high, broadcast_scalar(kTimesR));
  return less_order(less_order(reduce(sum)));
}

}  // namespace

void fold_avx512(const int64_t* values, size_t stride, size_t cols, const uint64_t* weights, size_t rows,
                 uint64_t* out) {
  constexpr size_t kRowsUntidied = 512;  // each adds less than four times 2^52 to a column
  for (size_t col = 0; col < cols; col += kVectors * kLanes) {
    __mmask8 there[kVectors];
    Columns8 sum[kVectors];
    for (size_t k = 0; k < kVectors; ++k) {
      const size_t first = col + k * kLanes, count = first >= cols ? 0 : cols - first < kLanes ? cols - first : kLanes;
      there[k] = static_cast<__mmask8>((1U << count) - 1);
      for (__m512i& column : sum[k].v) column = _mm512_setzero_si512();
    }
    for (size_t row = 0; row < rows; ++row) {
      const Sc8 weight = broadcast_scalar(weights + 4 * row);
#pragma GCC unroll 2
      for (size_t k = 0; k < kVectors; ++k) {
        const __m512i value = _mm512_maskz_loadu_epi64(there[k], values + row * stride + col + k * kLanes);
        add_product(sum[k], weight, _mm512_xor_si512(value, all(uint64_t{1} << 63)));
      }
      if (row % kRowsUntidied == kRowsUntidied - 1) {
        for (Columns8& s : sum) tidy(s);
      }
    }
    for (size_t k = 0; k < kVectors && there[k] != 0; ++k) {
      uint64_t last[4 * kLanes];
      store_scalars(reduced(sum[k]), last);
      const auto count = static_cast<size_t>(__builtin_popcount(there[k]));
      __builtin_memcpy(out + 4 * (col + k * kLanes), last, 4 * count * sizeof *last);
    }
  }
}

}  // namespace zkapex::fold_words

#endif
