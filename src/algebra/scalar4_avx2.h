// Integers mod l = 2^252 + c (montgomery.h), four at a time, with AVX2. Only for *_avx2.cpp files.
//
// Ten limbs, radix 2^26, and signed multiplications of 32 bits, so that a difference is taken limb by limb.
// Montgomery's R is 2^260, so nothing is ever subtracted conditionally.
//   Sc4   an integer whose limbs are below 2^26 in size. Settled: not negative, below 2^253 + 2^247; all others are
//         differences of settled ones, or 64- and 128-bit integers.
//   Sum4  twenty columns: a sum of products that is not reduced. A product adds less than 2^55.4 in size to a column,
//   so
//         that 64 of them are below 2^62. Tidied: columns from 0 to 2^26 − 1 but the last, which takes the rest and the
//         sign.
// There is no arithmetic shift of 64 bits in AVX2: to carry a column below 2^62 in size, 2^62 is added before the
// shift, and 2^62 / 2^26 is taken off the next column.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "algebra/lanes.h"

namespace zkapex {
namespace {

// Lane s of w[k] holds limbs 2k and, above it, 2k + 1 of integer s.
struct Sc4 {
  __m256i w[5];
};
// A limb a lane, in its lower half: what is above it means nothing.
struct Limbs4 {
  __m256i v[10];
};
struct Sum4 {
  __m256i v[20];
};

inline constexpr uint64_t kMask26 = (uint64_t{1} << 26) - 1;
inline constexpr uint64_t kLift = uint64_t{1} << 62, kLifted = kLift >> 26;
inline constexpr uint64_t kTail[5] = {0xf5d3ed, 0x98c697, 0x1cd6581, 0x37a8bde, 0x14def9};  // c
inline constexpr unsigned kTopBit = 18;                                                     // of limb 9: 2^252
inline constexpr uint64_t kNegativeInverse26 = 0x2547e1b;                                   // −1/l mod 2^26

ZKAPEX_LANES __m256i all(uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
ZKAPEX_LANES __m256i add(__m256i a, __m256i b) { return _mm256_add_epi64(a, b); }
ZKAPEX_LANES __m256i low26(__m256i a) { return _mm256_and_si256(a, all(kMask26)); }

ZKAPEX_LANES Sc4 zero_scalars() {
  const __m256i zero = _mm256_setzero_si256();
  return {{zero, zero, zero, zero, zero}};
}
ZKAPEX_LANES Sum4 zero_sum() {
  Sum4 out;
  for (__m256i& column : out.v) column = _mm256_setzero_si256();
  return out;
}

// Limb by limb.
ZKAPEX_LANES Sc4 operator-(const Sc4& a, const Sc4& b) {
  Sc4 out;
  for (int k = 0; k < 5; ++k) out.w[k] = _mm256_sub_epi32(a.w[k], b.w[k]);
  return out;
}
ZKAPEX_LANES Sc4 operator+(const Sc4& a, const Sc4& b) {
  Sc4 out;
  for (int k = 0; k < 5; ++k) out.w[k] = _mm256_add_epi32(a.w[k], b.w[k]);
  return out;
}

ZKAPEX_LANES Limbs4 limbs_of(const Sc4& a) {
  Limbs4 out;
  for (int k = 0; k < 5; ++k) {
    out.v[2 * k] = a.w[k];
    out.v[2 * k + 1] = _mm256_srli_epi64(a.w[k], 32);
  }
  return out;
}

// Column K of a product with the L lowest limbs of a, by templates and in this order: left to itself, GCC 12 keeps the
// loops, or makes all products first and runs out of registers.
template <int L, int K, int I>
ZKAPEX_LANES __m256i column(const Limbs4& a, const Limbs4& b, __m256i sum) {
  sum = add(sum, _mm256_mul_epi32(a.v[I], b.v[K - I]));
  asm volatile("" : "+x"(sum));
  if constexpr (I < L - 1 && I < K) sum = column<L, K, I + 1>(a, b, sum);
  return sum;
}
template <int K = 0>
ZKAPEX_LANES void add_columns(Sum4& sum, const Limbs4& a, const Limbs4& b) {
  sum.v[K] = column<10, K, (K < 10 ? 0 : K - 9)>(a, b, sum.v[K]);
  if constexpr (K < 18) add_columns<K + 1>(sum, a, b);
}
ZKAPEX_LARGE_LANES void add_product(Sum4& sum, const Sc4& a, const Sc4& b) {
  add_columns(sum, limbs_of(a), limbs_of(b));
}

// All columns but the last from 0 to 2^26 − 1.
ZKAPEX_LANES void tidy(Sum4& s) {
  for (int k = 0; k < 19; ++k) {
    const __m256i lifted = add(s.v[k], all(kLift));
    s.v[k] = low26(lifted);
    s.v[k + 1] = add(s.v[k + 1], _mm256_sub_epi64(_mm256_srli_epi64(lifted, 26), all(kLifted)));
  }
}

// Reduction by L limbs, that is by 2^(26 L), leaves its result in the columns from L to L + 9. This is what column k
// starts from: what carries need, and some times l at column L, which keeps results positive.
template <int L>
ZKAPEX_LANES __m256i lifted(int k, uint64_t multiple) {
  if (k == 0) return all(kLift);
  if (k == L + 9) return all((multiple << kTopBit) - kLifted);
  return all(kLift - kLifted + (k >= L && k < L + 5 ? multiple * kTail[k - L] : 0));
}
template <int L>
ZKAPEX_LANES void lift(Sum4& s, uint64_t multiple) {
  for (int k = 0; k < L + 10; ++k) s.v[k] = add(s.v[k], lifted<L>(k, multiple));
}
// A product with the L lowest limbs of a, lifted. Columns are set, each once: GCC 12 makes zeros by a string
// instruction, which takes longer than the product.
template <int L, int K = 0>
ZKAPEX_LANES void set_columns(Sum4& sum, const Limbs4& a, const Limbs4& b, uint64_t multiple) {
  if constexpr (K == L + 9) {
    sum.v[K] = lifted<L>(K, multiple);
  } else {
    sum.v[K] = column<L, K, (K < 10 ? 0 : K - 9)>(a, b, lifted<L>(K, multiple));
    set_columns<L, K + 1>(sum, a, b, multiple);
  }
}

// Montgomery's steps, of two sums side by side, since those of one wait for each other; columns are lifted.
template <int L, int I = 0>
ZKAPEX_LANES void reduction_steps(Sum4& s, Sum4& t) {
  const auto quotient = [](__m256i x) __attribute__((always_inline)) {
    return low26(_mm256_mul_epu32(x, all(kNegativeInverse26)));
  };
  const __m256i q = quotient(s.v[I]), p = quotient(t.v[I]);
  const auto step = [](Sum4 & x, __m256i m) __attribute__((always_inline)) {
    const __m256i carry = _mm256_srli_epi64(add(x.v[I], _mm256_mul_epu32(m, all(kTail[0]))), 26);
    x.v[I + 1] = add(add(x.v[I + 1], carry), _mm256_mul_epu32(m, all(kTail[1])));
    x.v[I + 2] = add(x.v[I + 2], _mm256_mul_epu32(m, all(kTail[2])));
    x.v[I + 3] = add(x.v[I + 3], _mm256_mul_epu32(m, all(kTail[3])));
    x.v[I + 4] = add(x.v[I + 4], _mm256_mul_epu32(m, all(kTail[4])));
    x.v[I + 9] = add(x.v[I + 9], _mm256_slli_epi64(m, kTopBit));
  };
  step(s, q);
  step(t, p);
  if constexpr (I < L - 1) reduction_steps<L, I + 1>(s, t);
}

// The integer that the lifted columns from L on are.
template <int L>
ZKAPEX_LANES Sc4 carried(const Sum4& s) {
  __m256i limb[10], rest = s.v[L];
  for (int k = 0; k < 9; ++k) {
    limb[k] = low26(rest);
    rest = add(s.v[L + 1 + k], _mm256_srli_epi64(rest, 26));
  }
  limb[9] = rest;
  Sc4 out;
  for (int k = 0; k < 5; ++k) out.w[k] = _mm256_or_si256(limb[2 * k], _mm256_slli_epi64(limb[2 * k + 1], 32));
  return out;
}

// Takes (t − 1) l off, where t 2^252 is about the integer: from l to 2^252 + l is left, give or take 2^245. What the
// column before the last two carries is not in t.
template <int L>
ZKAPEX_LANES void settle(Sum4& s) {
  const __m256i top = add(s.v[L + 9], _mm256_srli_epi64(s.v[L + 8], 26));
  const __m256i less = _mm256_sub_epi64(_mm256_srli_epi64(top, kTopBit), all(1));
  for (int k = 0; k < 5; ++k) s.v[L + k] = _mm256_sub_epi64(s.v[L + k], _mm256_mul_epi32(less, all(kTail[k])));
  s.v[L + 9] = _mm256_sub_epi64(s.v[L + 9], _mm256_slli_epi64(less, kTopBit));
}

// s / R and t / R of sums that are lifted.
ZKAPEX_LARGE_LANES void reduce_lifted(Sum4& s, Sum4& t, Sc4& s_out, Sc4& t_out) {
  reduction_steps<10>(s, t);
  s_out = carried<10>(s);
  t_out = carried<10>(t);
}
// s / R and t / R, plus `multiple` l.
ZKAPEX_LARGE_LANES void reduce(Sum4& s, Sum4& t, uint64_t multiple, Sc4& s_out, Sc4& t_out) {
  lift<10>(s, multiple);
  lift<10>(t, multiple);
  reduce_lifted(s, t, s_out, t_out);
}

// a / 2^(26 L), settled, in both of two.
template <int L>
ZKAPEX_LARGE_LANES Sc4 shifted(const Sc4& a) {
  Sum4 s = zero_sum(), t = zero_sum();
  const Limbs4 limbs = limbs_of(a);
  for (int k = 0; k < 10; ++k) s.v[k] = _mm256_mul_epi32(limbs.v[k], all(1));
  lift<L>(s, 1);
  reduction_steps<L>(s, t);
  settle<L>(s);
  return carried<L>(s);
}

// zero + x (one − zero), settled, of two; of one − zero only L limbs are not zero, and x comes times 2^(26 L).
template <int L>
ZKAPEX_LARGE_LANES void fold(const Sc4 (&zero)[2], const Sc4 (&one)[2], const Limbs4& x, Sc4 (&out)[2]) {
  Sum4 s[2];
  for (int k = 0; k < 2; ++k) set_columns<L>(s[k], limbs_of(one[k] - zero[k]), x, 1);
  reduction_steps<L>(s[0], s[1]);
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; 2 * i < L; ++i) {  // limbs of 64-bit integers may be negative
      const __m256i even = _mm256_mul_epi32(zero[k].w[i], all(1)),
                    odd = _mm256_mul_epi32(_mm256_srli_epi64(zero[k].w[i], 32), all(1));
      s[k].v[L + 2 * i] = add(s[k].v[L + 2 * i], even);
      s[k].v[L + 1 + 2 * i] = add(s[k].v[L + 1 + 2 * i], odd);
    }
    settle<L>(s[k]);
    out[k] = carried<L>(s[k]);
  }
}

// Between limbs and four words of 64 bits, for integers from 0 to 2^256 − 1.
ZKAPEX_LANES __m256i limb_pair(__m256i even, __m256i odd) {
  return _mm256_or_si256(low26(even), _mm256_slli_epi64(low26(odd), 32));
}
ZKAPEX_LANES Sc4 from_words(const __m256i* w) {
  const auto right = [](__m256i a, int bits) __attribute__((always_inline)) { return _mm256_srli_epi64(a, bits); };
  const auto both = [&](int k, int bits) __attribute__((always_inline)) {  // bits 64 k + `bits` on
    return _mm256_or_si256(right(w[k], bits), _mm256_slli_epi64(w[k + 1], 64 - bits));
  };
  return {{limb_pair(w[0], right(w[0], 26)), limb_pair(both(0, 52), right(w[1], 14)),
           limb_pair(both(1, 40), right(w[2], 2)), limb_pair(right(w[2], 28), both(2, 54)),
           limb_pair(right(w[3], 16), right(w[3], 42))}};
}
ZKAPEX_LANES void to_words(const Sc4& a, __m256i* w) {
  __m256i two[5];  // limbs 2k and 2k + 1 as 52 bits
  for (int k = 0; k < 5; ++k) {
    two[k] = _mm256_or_si256(_mm256_and_si256(a.w[k], all(0xffffffff)),
                             _mm256_slli_epi64(_mm256_srli_epi64(a.w[k], 32), 26));
  }
  const auto word = [&](int k, int right, int left) __attribute__((always_inline)) {
    return _mm256_or_si256(_mm256_srli_epi64(two[k], right), _mm256_slli_epi64(two[k + 1], left));
  };
  w[0] = word(0, 0, 52);
  w[1] = word(1, 12, 40);
  w[2] = word(2, 24, 28);
  w[3] = word(3, 36, 16);
}

ZKAPEX_LANES __m256i words_at(const void* p) { return _mm256_loadu_si256(static_cast<const __m256i*>(p)); }

// Four integers of four words each, one after another (an array of Scalars).
ZKAPEX_LANES Sc4 load_scalars(const uint64_t* p) {
  const __m256i a = words_at(p), b = words_at(p + 4), c = words_at(p + 8), d = words_at(p + 12);
  const __m256i even_ab = _mm256_unpacklo_epi64(a, b), odd_ab = _mm256_unpackhi_epi64(a, b);
  const __m256i even_cd = _mm256_unpacklo_epi64(c, d), odd_cd = _mm256_unpackhi_epi64(c, d);
  const __m256i words[4] = {
      _mm256_permute2x128_si256(even_ab, even_cd, 0x20), _mm256_permute2x128_si256(odd_ab, odd_cd, 0x20),
      _mm256_permute2x128_si256(even_ab, even_cd, 0x31), _mm256_permute2x128_si256(odd_ab, odd_cd, 0x31)};
  return from_words(words);
}
ZKAPEX_LANES Sc4 broadcast_scalar(const uint64_t* p) {
  const __m256i words[4] = {all(p[0]), all(p[1]), all(p[2]), all(p[3])};
  return from_words(words);
}

// Four integers in the same memory, word k of all of them together.
ZKAPEX_LANES Sc4 load_quad(const uint64_t* p) {
  const __m256i words[4] = {words_at(p), words_at(p + 4), words_at(p + 8), words_at(p + 12)};
  return from_words(words);
}
ZKAPEX_LANES void store_quad(const Sc4& a, uint64_t* p) {
  __m256i words[4];
  to_words(a, words);
  for (int k = 0; k < 4; ++k) _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 4 * k), words[k]);
}

// Signed integers: their highest limb has the sign.
ZKAPEX_LANES Sc4 from_i64(__m256i v) {
  const __m256i zero = _mm256_setzero_si256();
  return {{limb_pair(v, _mm256_srli_epi64(v, 26)), _mm256_srli_epi64(_mm256_srai_epi32(v, 20), 32), zero, zero, zero}};
}
ZKAPEX_LANES Sc4 from_i128(__m256i low, __m256i high) {
  const __m256i zero = _mm256_setzero_si256();
  const __m256i middle = _mm256_or_si256(_mm256_srli_epi64(low, 52), _mm256_slli_epi64(high, 12));
  return {{limb_pair(low, _mm256_srli_epi64(low, 26)), limb_pair(middle, _mm256_srli_epi64(high, 14)),
           _mm256_srli_epi64(_mm256_srai_epi32(high, 8), 32), zero, zero}};
}

}  // namespace
}  // namespace zkapex

#endif  // defined(__x86_64__)
