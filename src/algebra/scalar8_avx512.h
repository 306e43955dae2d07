// Integers mod l = 2^252 + c (montgomery.h), eight at a time, with AVX-512 IFMA. Only for *_avx512.cpp files.
//
// Lane s of v[k] holds limb k of integer s, radix 2^52. Montgomery's R is 2^260 here, 256 times l, so nothing is ever
// subtracted conditionally:
//   Sc8    an integer with limbs below 2^52, so below 256 l. A product of one below A l and one below B l is below
//          (1 + A B / 256) l.
//   Sum8   ten columns: a sum of products that is not reduced. A product adds less than nine times 2^52 to a column, so
//          400 of them fit before columns are carried (tidied), in any number after that: the last column takes the
//          rest.
// "Settled" is below 2^253 + 2^222, a little more than 2 l at most. Built with ZKAPEX_CHECK_BOUNDS, limbs out of bounds
// trap.
#pragma once

#include "algebra/lanes_avx512.h"

#if defined(__x86_64__)

namespace zkapex {
namespace {

struct Sc8 {
  __m512i v[5];
};
struct Sum8 {
  __m512i v[10];
};

inline constexpr uint64_t kMask52 = (uint64_t{1} << 52) - 1;
inline constexpr uint64_t kOrder8[5] = {0x2631a5cf5d3ed, 0xdea2f79cd6581, 0x14def9, 0, uint64_t{1} << 44};
inline constexpr uint64_t kTimesR[4] = {0x69f9d265e952d13b, 0x687604d63c715bea, 0xec73d217f5be65cb,
                                        0x09411b7c309a3dce};     // 2^520 mod l: times it, a value is multiplied by R
inline constexpr uint64_t kNegativeInverse52 = 0x51da312547e1b;  // −1/l mod 2^52

ZKAPEX_LANES Sc8 zero_scalars() {
  const __m512i zero = _mm512_setzero_si512();
  return {{zero, zero, zero, zero, zero}};
}
ZKAPEX_LANES Sum8 zero_sum() {
  Sum8 out;
  for (__m512i& column : out.v) column = _mm512_setzero_si512();
  return out;
}

// Limbs of an integer that is not negative, from signed columns.
ZKAPEX_LANES Sc8 carried(const __m512i* columns) {
  Sc8 out;
  __m512i rest = columns[0];
  for (int k = 0; k < 4; ++k) {
    out.v[k] = _mm512_and_si512(rest, all(kMask52));
    rest = _mm512_add_epi64(columns[k + 1], _mm512_srai_epi64(rest, 52));
  }
  out.v[4] = rest;
  check(out.v, uint64_t{1} << 52);
  return out;
}

ZKAPEX_LANES Sc8 operator+(const Sc8& a, const Sc8& b) {
  __m512i columns[5];
  for (int k = 0; k < 5; ++k) columns[k] = _mm512_add_epi64(a.v[k], b.v[k]);
  return carried(columns);
}
// a − b + 4 l; b is settled.
ZKAPEX_LANES Sc8 operator-(const Sc8& a, const Sc8& b) {
  __m512i columns[5];
  for (int k = 0; k < 5; ++k) columns[k] = _mm512_add_epi64(_mm512_sub_epi64(a.v[k], b.v[k]), all(4 * kOrder8[k]));
  return carried(columns);
}

ZKAPEX_LANES void add_product(Sum8& sum, const Sc8& a, const Sc8& b) {
  check(a.v, uint64_t{1} << 52);
  check(b.v, uint64_t{1} << 52);
#pragma GCC unroll 5
  for (int i = 0; i < 5; ++i) {
#pragma GCC unroll 5
    for (int j = 0; j < 5; ++j) sum.v[i + j] = add_low(sum.v[i + j], a.v[i], b.v[j]);
#pragma GCC unroll 5
    for (int j = 0; j < 5; ++j) sum.v[i + j + 1] = add_high(sum.v[i + j + 1], a.v[i], b.v[j]);
  }
}

// For a sum of many products: the halves of limb products apart, or it would be a chain that waits for itself.
struct SplitSum8 {
  __m512i low[9], high[9];
};
ZKAPEX_LANES SplitSum8 zero_split() {
  SplitSum8 out;
  for (int k = 0; k < 9; ++k) out.low[k] = out.high[k] = _mm512_setzero_si512();
  return out;
}
ZKAPEX_LANES void add_product(SplitSum8& sum, const Sc8& a, const Sc8& b) {
  check(a.v, uint64_t{1} << 52);
  check(b.v, uint64_t{1} << 52);
#pragma GCC unroll 5
  for (int i = 0; i < 5; ++i) {
#pragma GCC unroll 5
    for (int j = 0; j < 5; ++j) {
      sum.low[i + j] = add_low(sum.low[i + j], a.v[i], b.v[j]);
      sum.high[i + j] = add_high(sum.high[i + j], a.v[i], b.v[j]);
    }
  }
}
ZKAPEX_LANES Sum8 joined(const SplitSum8& s) {
  Sum8 out;
  out.v[0] = s.low[0];
  for (int k = 1; k < 9; ++k) out.v[k] = _mm512_add_epi64(s.low[k], s.high[k - 1]);
  out.v[9] = s.high[8];
  return out;
}

// All columns below 2^52 but the last.
ZKAPEX_LANES void tidy(Sum8& s) {
  for (int k = 0; k < 9; ++k) {
    s.v[k + 1] = _mm512_add_epi64(s.v[k + 1], _mm512_srli_epi64(s.v[k], 52));
    s.v[k] = _mm512_and_si512(s.v[k], all(kMask52));
  }
}

// From column 5 on: s / R mod l, below s / R + l.
ZKAPEX_LANES void reduce_columns(Sum8& s) {
  const __m512i zero = _mm512_setzero_si512();
#pragma GCC unroll 5
  for (int i = 0; i < 5; ++i) {
    const __m512i q = add_low(zero, s.v[i], all(kNegativeInverse52));
    const __m512i carry = _mm512_srli_epi64(add_low(s.v[i], q, all(kOrder8[0])), 52);
    s.v[i + 1] = add_low(add_high(_mm512_add_epi64(s.v[i + 1], carry), q, all(kOrder8[0])), q, all(kOrder8[1]));
    s.v[i + 2] = add_low(add_high(s.v[i + 2], q, all(kOrder8[1])), q, all(kOrder8[2]));
    s.v[i + 3] = add_high(s.v[i + 3], q, all(kOrder8[2]));
    s.v[i + 4] = add_low(s.v[i + 4], q, all(kOrder8[4]));
    s.v[i + 5] = add_high(s.v[i + 5], q, all(kOrder8[4]));
  }
}
ZKAPEX_LARGE_LANES Sc8 reduce(Sum8 s) {
  reduce_columns(s);
  return carried(s.v + 5);
}
// a b / R
ZKAPEX_LARGE_LANES Sc8 operator*(const Sc8& a, const Sc8& b) {
  Sum8 sum = zero_sum();
  add_product(sum, a, b);
  return reduce(sum);
}

// a − l where that is not negative, else a.
ZKAPEX_LANES Sc8 less_order(const Sc8& a) {
  __m512i columns[5];
  __m512i carry = _mm512_setzero_si512();
  for (int k = 0; k < 5; ++k) {
    columns[k] = _mm512_add_epi64(_mm512_sub_epi64(a.v[k], all(kOrder8[k])), carry);
    carry = _mm512_srai_epi64(columns[k], 52);
    if (k < 4) columns[k] = _mm512_and_si512(columns[k], all(kMask52));
  }
  const __mmask8 negative = _mm512_movepi64_mask(columns[4]);
  Sc8 out;
  for (int k = 0; k < 5; ++k) out.v[k] = _mm512_mask_mov_epi64(columns[k], negative, a.v[k]);
  return out;
}

// Limb k of l − t c for t < 8.
struct SettleTable {
  alignas(64) uint64_t limbs[5][8];
};
constexpr SettleTable settle_table() {
  SettleTable out{};
  for (uint64_t t = 0; t < 8; ++t) {
    int64_t carry = 0;
    for (int k = 0; k < 5; ++k) {
      const uint64_t c = k < 4 ? kOrder8[k] : 0;
      const int64_t column = static_cast<int64_t>(kOrder8[k]) - static_cast<int64_t>(t * c) + carry;
      out.limbs[k][t] = static_cast<uint64_t>(column) & kMask52;
      carry = column >> 52;
    }
  }
  return out;
}
inline constexpr SettleTable kSettle = settle_table();

// The integer below 8·2^252 that five columns below 2^60 are, settled: t 2^252 is replaced by l − t c, where t is read
// off the last column as it stands. What is carried into that later is below 2^221.
ZKAPEX_LANES Sc8 settled(__m512i* columns) {
  const __m512i t = _mm512_srli_epi64(columns[4], 44);
  columns[4] = _mm512_and_si512(columns[4], all((uint64_t{1} << 44) - 1));
  for (int k = 0; k < 5; ++k) {
    columns[k] = _mm512_add_epi64(columns[k], _mm512_permutexvar_epi64(t, _mm512_load_si512(kSettle.limbs[k])));
  }
  return carried(columns);
}

// zero + x (one − zero), settled as its arguments are; x below l, in Montgomery form for this R.
ZKAPEX_LARGE_LANES Sc8 fold(const Sc8& zero, const Sc8& one, const Sc8& x) {
  Sum8 s = zero_sum();
  add_product(s, one - zero, x);
  reduce_columns(s);
  for (int k = 0; k < 5; ++k) s.v[5 + k] = _mm512_add_epi64(s.v[5 + k], zero.v[k]);
  return settled(s.v + 5);
}

// Between limbs and four words of 64 bits, for integers below 2^256.
ZKAPEX_LANES Sc8 from_words(const __m512i* w) {
  const __m512i mask = all(kMask52);
  const auto limb = [&](__m512i low, unsigned right, __m512i high, unsigned left) __attribute__((always_inline)) {
    return _mm512_and_si512(_mm512_or_si512(_mm512_srli_epi64(low, right), _mm512_slli_epi64(high, left)), mask);
  };
  return {{_mm512_and_si512(w[0], mask), limb(w[0], 52, w[1], 12), limb(w[1], 40, w[2], 24), limb(w[2], 28, w[3], 36),
           _mm512_srli_epi64(w[3], 16)}};
}
ZKAPEX_LANES void to_words(const Sc8& a, __m512i* w) {
  const auto word = [](__m512i low, unsigned right, __m512i high, unsigned left) __attribute__((always_inline)) {
    return _mm512_or_si512(_mm512_srli_epi64(low, right), _mm512_slli_epi64(high, left));
  };
  w[0] = word(a.v[0], 0, a.v[1], 52);
  w[1] = word(a.v[1], 12, a.v[2], 40);
  w[2] = word(a.v[2], 24, a.v[3], 28);
  w[3] = word(a.v[3], 36, a.v[4], 16);
}

// Eight integers of four words each, one after another (an array of Scalars).
ZKAPEX_LANES Sc8 load_scalars(const uint64_t* p) {
  __m512i rows[4], words[4];
  for (int s = 0; s < 4; ++s) {
    const auto four = [&](int k) __attribute__((always_inline)) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p + 4 * k));
    };
    rows[s] = _mm512_inserti64x4(_mm512_castsi256_si512(four(s)), four(4 + s), 1);
  }
  transpose_halves(rows, words);
  return from_words(words);
}
// Of integers below 2^256.
ZKAPEX_LANES void store_scalars(const Sc8& a, uint64_t* p) {
  __m512i words[4], rows[4];
  to_words(a, words);
  transpose_halves(words, rows);
  for (int s = 0; s < 4; ++s) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 4 * s), _mm512_castsi512_si256(rows[s]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p + 4 * (4 + s)), _mm512_extracti64x4_epi64(rows[s], 1));
  }
}
ZKAPEX_LANES Sc8 broadcast_scalar(const uint64_t* p) {
  const __m512i words[4] = {all(p[0]), all(p[1]), all(p[2]), all(p[3])};
  return from_words(words);
}

// Eight integers in the same memory, word k of all of them together.
ZKAPEX_LANES Sc8 load_octet(const uint64_t* p) {
  const __m512i words[4] = {_mm512_loadu_si512(p), _mm512_loadu_si512(p + 8), _mm512_loadu_si512(p + 16),
                            _mm512_loadu_si512(p + 24)};
  return from_words(words);
}
ZKAPEX_LANES void store_octet(const Sc8& a, uint64_t* p) {
  __m512i words[4];
  to_words(a, words);
  for (int k = 0; k < 4; ++k) _mm512_storeu_si512(p + 8 * k, words[k]);
}

// Signed integers, to which l is added so that none is negative.
ZKAPEX_LANES Sc8 from_integers(__m512i low52, __m512i next52, __m512i rest) {
  const __m512i columns[5] = {_mm512_add_epi64(low52, all(kOrder8[0])), _mm512_add_epi64(next52, all(kOrder8[1])),
                              _mm512_add_epi64(rest, all(kOrder8[2])), _mm512_setzero_si512(), all(kOrder8[4])};
  return carried(columns);
}
ZKAPEX_LANES Sc8 from_i64(__m512i v) {
  return from_integers(_mm512_and_si512(v, all(kMask52)), _mm512_srai_epi64(v, 52), _mm512_setzero_si512());
}
ZKAPEX_LANES Sc8 from_i128(__m512i low, __m512i high) {
  const __m512i middle = _mm512_or_si512(_mm512_srli_epi64(low, 52), _mm512_slli_epi64(high, 12));
  return from_integers(_mm512_and_si512(low, all(kMask52)), _mm512_and_si512(middle, all(kMask52)),
                       _mm512_srai_epi64(high, 40));
}

}  // namespace
}  // namespace zkapex

#endif  // defined(__x86_64__)
