// Eight lanes of 64 bits: what the fields have in common. Only for *_avx512.cpp files.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "algebra/lanes.h"

namespace zkapex {
namespace {

ZKAPEX_LANES __m512i all(uint64_t x) { return _mm512_set1_epi64(static_cast<long long>(x)); }
// sum + the low, the high 52 bits of a b, of whose limbs 52 bits are read.
ZKAPEX_LANES __m512i add_low(__m512i sum, __m512i a, __m512i b) { return _mm512_madd52lo_epu64(sum, a, b); }
ZKAPEX_LANES __m512i add_high(__m512i sum, __m512i a, __m512i b) { return _mm512_madd52hi_epu64(sum, a, b); }

// Traps if a limb is not below the bound; only built with ZKAPEX_CHECK_BOUNDS.
template <int N>
ZKAPEX_LANES void check([[maybe_unused]] const __m512i (&limbs)[N], [[maybe_unused]] uint64_t bound) {
#ifdef ZKAPEX_CHECK_BOUNDS
  for (const __m512i limb : limbs) {
    if (_mm512_cmpge_epu64_mask(limb, all(bound)) != 0) __builtin_trap();
  }
#endif
}

// 4×4 transposition in both halves: lane s of out[k] is lane k of in[s], lane 4 + s is lane 4 + k.
ZKAPEX_LANES void transpose_halves(const __m512i* in, __m512i* out) {
  const __m512i low = _mm512_set_epi64(13, 12, 5, 4, 9, 8, 1, 0), high = _mm512_set_epi64(15, 14, 7, 6, 11, 10, 3, 2);
  const __m512i even01 = _mm512_unpacklo_epi64(in[0], in[1]), odd01 = _mm512_unpackhi_epi64(in[0], in[1]);
  const __m512i even23 = _mm512_unpacklo_epi64(in[2], in[3]), odd23 = _mm512_unpackhi_epi64(in[2], in[3]);
  out[0] = _mm512_permutex2var_epi64(even01, low, even23);
  out[1] = _mm512_permutex2var_epi64(odd01, low, odd23);
  out[2] = _mm512_permutex2var_epi64(even01, high, even23);
  out[3] = _mm512_permutex2var_epi64(odd01, high, odd23);
}

// 8×8 transposition: lane s of out[k] is lane k of in[s].
ZKAPEX_LARGE_LANES void transpose(const __m512i (&in)[8], __m512i (&out)[8]) {
  __m512i halves[8];
  transpose_halves(in, halves);
  transpose_halves(in + 4, halves + 4);
  for (int k = 0; k < 4; ++k) {
    out[k] = _mm512_shuffle_i64x2(halves[k], halves[4 + k], 0x44);
    out[4 + k] = _mm512_shuffle_i64x2(halves[k], halves[4 + k], 0xee);
  }
}

}  // namespace
}  // namespace zkapex

#endif  // defined(__x86_64__)
