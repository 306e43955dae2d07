// The field 2^255 − 19, four elements at a time, in double-precision fused multiply-add. Only for *_avx2.cpp files:
// everything has internal linkage, so that no function compiled for AVX2 can stand in for a portable one.
//
// Lane s of v[k] holds limb k, a signed integer kept exactly in a double: the element is Σ v[k] 2^(51 k).
//
// Bounds, in the type. Call 2^50 + 2^11 the unit. Fe4<M> has limbs of at most M units in absolute value.
//   products and carried elements: Fe4<1>;  a ± b: Fe4<A + B>;  a·b: only if A·B ≤ 7.
// The compiler rejects a product out of bounds; built with ZKAPEX_CHECK_BOUNDS, the claim of each type is tested as
// well.
//
// A product of limbs is split exactly, with the rounding mode toward zero (RoundTowardZero):
//   h = fma(a, b, C),        C = 3·2^103:     the mantissa of h is that of C plus ⌊a b / 2^52⌋    (|a b| < 2^103)
//   l = fma(a, b, C + 2^52 − h) = 2^52 + (a b mod 2^52)
// Both are then added as 64-bit integers, mantissas and exponents together, and what the exponents sum to is subtracted
// once per column.
#pragma once

#if defined(__x86_64__)

#include <immintrin.h>
#include <stddef.h>
#include <stdint.h>

#include "algebra/lanes.h"

namespace zkapex {
namespace {

// Held by every entry point around calls of kernels that are not inlined: code cannot move out of the mode it needs.
class RoundTowardZero {
 public:
  RoundTowardZero() : saved_(_mm_getcsr()) { _mm_setcsr((saved_ & ~0x6000U) | 0x6000U); }
  ~RoundTowardZero() { _mm_setcsr(saved_); }
  RoundTowardZero(const RoundTowardZero&) = delete;
  RoundTowardZero& operator=(const RoundTowardZero&) = delete;

 private:
  unsigned saved_;
};

template <int Magnitude>
struct Fe4 {
  __m256d v[5];
};

ZKAPEX_LANES __m256d all(double x) { return _mm256_set1_pd(x); }
ZKAPEX_LANES __m256i all(uint64_t x) { return _mm256_set1_epi64x(static_cast<long long>(x)); }
ZKAPEX_LANES __m256i as_bits(__m256d x) { return _mm256_castpd_si256(x); }
ZKAPEX_LANES __m256d as_doubles(__m256i x) { return _mm256_castsi256_pd(x); }

template <int M>
ZKAPEX_LANES void check([[maybe_unused]] const Fe4<M>& a) {
#ifdef ZKAPEX_CHECK_BOUNDS
  for (const __m256d limb : a.v) {
    const __m256d size = _mm256_andnot_pd(all(-0.0), limb);
    if (_mm256_movemask_pd(_mm256_cmp_pd(size, all(M * (0x1p50 + 0x1p11)), _CMP_NLE_UQ)) != 0) __builtin_trap();
  }
#endif
}

template <int A, int B>
ZKAPEX_LANES Fe4<A + B> operator+(const Fe4<A>& a, const Fe4<B>& b) {
  Fe4<A + B> out;
  for (int k = 0; k < 5; ++k) out.v[k] = _mm256_add_pd(a.v[k], b.v[k]);
  return out;
}

template <int A, int B>
ZKAPEX_LANES Fe4<A + B> operator-(const Fe4<A>& a, const Fe4<B>& b) {
  Fe4<A + B> out;
  for (int k = 0; k < 5; ++k) out.v[k] = _mm256_sub_pd(a.v[k], b.v[k]);
  return out;
}

inline constexpr uint64_t kMask51 = (uint64_t{1} << 51) - 1;
inline constexpr uint64_t kBits2p52 = 0x4330000000000000;   // the bits of 2^52
inline constexpr uint64_t kBitsSplit = 0x4678000000000000;  // the bits of kSplit
inline constexpr double kSplit = 0x1.8p104;

// How many products a multiplication and a squaring add up in column k (the limb products with i + j = k).
inline constexpr uint64_t kMultiplyTerms[10] = {1, 2, 3, 4, 5, 4, 3, 2, 1, 0};
inline constexpr uint64_t kSquareTerms[10] = {1, 1, 2, 2, 3, 2, 2, 1, 1, 0};

// What is added to limb k so that the exponents vanish mod 2^64, the sum is positive (2^62) and limbs come out centred
// (2^50). Without exponents a column is at most 43·2^54 < 2^60 in absolute value: 2^62 keeps it in range.
constexpr uint64_t column_offset(const uint64_t (&terms)[10], int k) {
  const uint64_t below = k > 0 ? terms[k - 1] : 0;
  const uint64_t exponents =
      terms[k] * kBits2p52 + 2 * below * kBitsSplit + 19 * (terms[k + 5] * kBits2p52 + 2 * terms[k + 4] * kBitsSplit);
  return (uint64_t{1} << 62) + (uint64_t{1} << 50) - exponents;
}

// Low and high halves of the products of one column; the high half counts 2^52, twice the weight of the next limb.
struct Column {
  __m256i low, high;
};

ZKAPEX_LANES Column product(__m256d a, __m256d b) {
  const __m256d h = _mm256_fmadd_pd(a, b, all(kSplit));
  const __m256d l = _mm256_fmadd_pd(a, b, _mm256_sub_pd(all(kSplit + 0x1p52), h));
  return {as_bits(l), as_bits(h)};
}
ZKAPEX_LANES void operator+=(Column& sum, const Column& term) {
  sum.low = _mm256_add_epi64(sum.low, term.low);
  sum.high = _mm256_add_epi64(sum.high, term.high);
}

ZKAPEX_LANES __m256i times2(__m256i x) { return _mm256_add_epi64(x, x); }
ZKAPEX_LANES __m256i times19(__m256i x) {
  return _mm256_add_epi64(_mm256_add_epi64(x, times2(x)), _mm256_slli_epi64(x, 4));
}

// Limb sums r (offset by column_offset) to a centred element. Carries are below 2^12 and 2048 of each is the offset
// 2^62.
ZKAPEX_LANES Fe4<1> carry_columns(const __m256i (&r)[5]) {
  const auto limb = [](__m256i sum, __m256i carry, double offset) {
    const __m256i low = _mm256_or_si256(_mm256_and_si256(sum, all(kMask51)), all(kBits2p52));
    return _mm256_sub_pd(as_doubles(_mm256_add_epi64(low, carry)), all(0x1p52 + 0x1p50 + offset));
  };
  const auto carry = [](__m256i sum) { return _mm256_srli_epi64(sum, 51); };
  const Fe4<1> out = {{limb(r[0], _mm256_mul_epu32(carry(r[4]), all(uint64_t{19})), 19 * 2048.0),
                       limb(r[1], carry(r[0]), 2048.0), limb(r[2], carry(r[1]), 2048.0),
                       limb(r[3], carry(r[2]), 2048.0), limb(r[4], carry(r[3]), 2048.0)}};
  check(out);
  return out;
}

// Limb sums while the columns are added from the lowest, so that few partial sums are alive at a time.
struct LimbSums {
  __m256i limb[5];
  __m256i high;  // of the column before
};

template <int K, const uint64_t (&Terms)[10]>
ZKAPEX_LANES void add_column(LimbSums& sums, const Column& column) {
  if constexpr (K == 0) {
    sums.limb[0] = _mm256_add_epi64(column.low, all(column_offset(Terms, 0)));
  } else if constexpr (K < 5) {
    sums.limb[K] = _mm256_add_epi64(_mm256_add_epi64(column.low, sums.high), all(column_offset(Terms, K)));
  } else {  // 2^255 = 19
    sums.limb[K - 5] = _mm256_add_epi64(sums.limb[K - 5], times19(_mm256_add_epi64(column.low, sums.high)));
  }
  sums.high = times2(column.high);
}

// Σ a_i b_j over i + j = K, from i = I on.
template <int K, int I = (K < 5 ? 0 : K - 4)>
ZKAPEX_LANES Column multiply_column(const __m256d (&a)[5], const __m256d (&b)[5]) {
  Column sum = product(a[I], b[K - I]);
  if constexpr (I < 4 && I < K) sum += multiply_column<K, I + 1>(a, b);
  return sum;
}

// Σ a_i a_j over i + j = K with i ≤ j, the terms with i < j taken twice.
template <int K, int I = (K < 5 ? 0 : K - 4)>
ZKAPEX_LANES Column square_column(const __m256d (&a)[5], const __m256d (&twice)[5]) {
  Column sum = product(2 * I == K ? a[I] : twice[I], a[K - I]);
  if constexpr (2 * (I + 1) <= K) sum += square_column<K, I + 1>(a, twice);
  return sum;
}

template <int A, int B>
ZKAPEX_LARGE_LANES Fe4<1> operator*(const Fe4<A>& a, const Fe4<B>& b) {
  static_assert(A * B <= 7, "carry a factor first");
  check(a);
  check(b);
  LimbSums sums;
  add_column<0, kMultiplyTerms>(sums, multiply_column<0>(a.v, b.v));
  add_column<1, kMultiplyTerms>(sums, multiply_column<1>(a.v, b.v));
  add_column<2, kMultiplyTerms>(sums, multiply_column<2>(a.v, b.v));
  add_column<3, kMultiplyTerms>(sums, multiply_column<3>(a.v, b.v));
  add_column<4, kMultiplyTerms>(sums, multiply_column<4>(a.v, b.v));
  add_column<5, kMultiplyTerms>(sums, multiply_column<5>(a.v, b.v));
  add_column<6, kMultiplyTerms>(sums, multiply_column<6>(a.v, b.v));
  add_column<7, kMultiplyTerms>(sums, multiply_column<7>(a.v, b.v));
  add_column<8, kMultiplyTerms>(sums, multiply_column<8>(a.v, b.v));
  sums.limb[4] = _mm256_add_epi64(sums.limb[4], times19(sums.high));
  return carry_columns(sums.limb);
}

ZKAPEX_LARGE_LANES Fe4<1> square(const Fe4<1>& a) {
  check(a);
  const Fe4<2> twice = a + a;
  LimbSums sums;
  add_column<0, kSquareTerms>(sums, square_column<0>(a.v, twice.v));
  add_column<1, kSquareTerms>(sums, square_column<1>(a.v, twice.v));
  add_column<2, kSquareTerms>(sums, square_column<2>(a.v, twice.v));
  add_column<3, kSquareTerms>(sums, square_column<3>(a.v, twice.v));
  add_column<4, kSquareTerms>(sums, square_column<4>(a.v, twice.v));
  add_column<5, kSquareTerms>(sums, square_column<5>(a.v, twice.v));
  add_column<6, kSquareTerms>(sums, square_column<6>(a.v, twice.v));
  add_column<7, kSquareTerms>(sums, square_column<7>(a.v, twice.v));
  add_column<8, kSquareTerms>(sums, square_column<8>(a.v, twice.v));
  sums.limb[4] = _mm256_add_epi64(sums.limb[4], times19(sums.high));
  return carry_columns(sums.limb);
}

// The same value, limbs centred. Adding 3·2^102 (whose ulp is 2^51) and taking it off again rounds down to a multiple
// of 2^51.
template <int M>
ZKAPEX_LARGE_LANES Fe4<1> carried(const Fe4<M>& a) {
  static_assert(M <= 7);  // below 2^53, so limbs are exact integers
  check(a);
  __m256d carry[5];
  for (int k = 0; k < 5; ++k) {
    const __m256d centred = _mm256_add_pd(a.v[k], all(0x1p50));
    carry[k] = _mm256_sub_pd(_mm256_add_pd(centred, all(0x1.8p103)), all(0x1.8p103));
  }
  Fe4<1> out;
  out.v[0] = _mm256_fmadd_pd(carry[4], all(19 * 0x1p-51), _mm256_sub_pd(a.v[0], carry[0]));
  for (int k = 1; k < 5; ++k) {
    out.v[k] = _mm256_fmadd_pd(carry[k - 1], all(0x1p-51), _mm256_sub_pd(a.v[k], carry[k]));
  }
  check(out);
  return out;
}

// From four elements of 5 tight limbs each (field.h), `stride` words apart.
ZKAPEX_LARGE_LANES Fe4<1> load(const uint64_t* p, size_t stride) {
  Fe4<3> out;
  for (size_t k = 0; k < 5; ++k) {
    const __m256i limb =
        _mm256_set_epi64x(static_cast<long long>(p[3 * stride + k]), static_cast<long long>(p[2 * stride + k]),
                          static_cast<long long>(p[stride + k]), static_cast<long long>(p[k]));
    out.v[k] = _mm256_sub_pd(as_doubles(_mm256_or_si256(limb, all(kBits2p52))), all(0x1p52));
  }
  return carried(out);
}

// To the same form. Adding p makes every limb positive; one carry makes them tight.
ZKAPEX_LARGE_LANES void store(const Fe4<1>& a, uint64_t* p, size_t stride) {
  check(a);
  __m256i limb[5];
  for (int k = 0; k < 5; ++k) {
    const __m256d positive = _mm256_add_pd(a.v[k], all(0x1p52 + 0x1p51 - (k == 0 ? 19.0 : 1.0)));
    limb[k] = _mm256_xor_si256(as_bits(positive), all(kBits2p52));
  }
  for (size_t k = 0; k < 5; ++k) {
    const __m256i carry = _mm256_srli_epi64(limb[k == 0 ? 4 : k - 1], 51);
    const __m256i low = _mm256_and_si256(limb[k], all(kMask51));
    const __m256i sum = _mm256_add_epi64(low, k == 0 ? times19(carry) : carry);
    alignas(32) uint64_t lanes[4];
    _mm256_store_si256(reinterpret_cast<__m256i*>(lanes), sum);
    for (size_t s = 0; s < 4; ++s) p[s * stride + k] = lanes[s];
  }
}

ZKAPEX_LANES Fe4<1> broadcast(const double (&limbs)[5]) {
  return {{all(limbs[0]), all(limbs[1]), all(limbs[2]), all(limbs[3]), all(limbs[4])}};
}

// Centred limbs of constants.
inline constexpr double k2D4[5] = {-391889346694823, 932731440258427, 1072319116312658, -435901477914249,
                                   633789495995904};
inline constexpr double k4D4[5] = {-783778693389627, -386336933168394, -107161581059931, -871802955828497,
                                   -984220821693440};
inline constexpr double kHalf4[5] = {10, 0, 0, 0, -1125899906842624};
inline constexpr double kZero4[5] = {0, 0, 0, 0, 0};
inline constexpr double kOne4[5] = {1, 0, 0, 0, 0};

}  // namespace
}  // namespace zkapex

#endif  // defined(__x86_64__)
