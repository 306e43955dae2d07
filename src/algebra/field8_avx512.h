// The field 2^255 − 19, eight elements at a time, with AVX-512 IFMA. Only for *_avx512.cpp files.
//
// Lane s of v[k] holds limb k of element s, unsigned: the element is Σ v[k] 2^(51 k). Two types, by bounds:
//   Fe8    what a multiplication takes: limbs below 2^52, of which the instruction reads no more bits.
//   Wide8  what products and sums are: columns below 2^63. A product's are below 267·2^52 < 2^61.
// Sums and differences of products are taken before the carry, which then costs nothing more: carried(x ± y). It gives
// limbs below 2^51 + 2^17. Built with ZKAPEX_CHECK_BOUNDS, a violation traps.
#pragma once

#if defined(__x86_64__)

#include "algebra/lanes_avx512.h"

namespace zkapex {
namespace {

struct Fe8 {
  __m512i v[5];
};
struct Wide8 {
  __m512i v[5];
};

inline constexpr uint64_t kMask51 = (uint64_t{1} << 51) - 1;

ZKAPEX_LANES __m512i times2(__m512i x) { return _mm512_add_epi64(x, x); }
ZKAPEX_LANES __m512i times9(__m512i x) { return _mm512_add_epi64(x, _mm512_slli_epi64(x, 3)); }

ZKAPEX_LANES Wide8 operator+(const Wide8& a, const Wide8& b) {
  Wide8 out;
  for (int k = 0; k < 5; ++k) out.v[k] = _mm512_add_epi64(a.v[k], b.v[k]);
  return out;
}
// What is subtracted has columns of at most 2^62 − 19·2^11: those of 2^11 p, which is added.
ZKAPEX_LANES Wide8 operator-(const Wide8& a, const Wide8& b) {
  constexpr uint64_t kLowest = (kMask51 - 18) << 11, kOther = kMask51 << 11;
  check(b.v, kLowest);
  Wide8 out;
  for (int k = 0; k < 5; ++k) {
    out.v[k] = _mm512_sub_epi64(_mm512_add_epi64(a.v[k], all(k == 0 ? kLowest : kOther)), b.v[k]);
  }
  return out;
}
ZKAPEX_LANES Wide8 wide(const Fe8& a) { return {{a.v[0], a.v[1], a.v[2], a.v[3], a.v[4]}}; }

// All limbs carry at once: a carry is below 2^12, nineteen of them below 2^17.
ZKAPEX_LANES Fe8 carried(const Wide8& a) {
  check(a.v, uint64_t{1} << 63);
  __m512i low[5], carry[5];
  for (int k = 0; k < 5; ++k) {
    low[k] = _mm512_and_si512(a.v[k], all(kMask51));
    carry[k] = _mm512_srli_epi64(a.v[k], 51);
  }
  return {{add_low(low[0], carry[4], all(19)), _mm512_add_epi64(low[1], carry[0]), _mm512_add_epi64(low[2], carry[1]),
           _mm512_add_epi64(low[3], carry[2]), _mm512_add_epi64(low[4], carry[3])}};
}

// With l_k and h_k the sums of the low and high halves of the limb products a_i b_j, i + j = k (a high half counts
// 2^52, twice the weight of the next limb), and u_k = l_(k+5) + 2 h_(k+4):  column k is l_k + 2 h_(k−1) + 19 u_k.
// 19 u = 2 (9 u) + u: nine u starts the sum of high halves, which is doubled anyway, and u that of low ones. Products
// come row by row, so that those that follow each other belong to different sums.
ZKAPEX_LARGE_LANES Wide8 operator*(const Fe8& x, const Fe8& y) {
  const __m512i *a = x.v, *b = y.v;
  check(x.v, uint64_t{1} << 52);
  check(y.v, uint64_t{1} << 52);
  const __m512i zero = _mm512_setzero_si512();
  __m512i high[5] = {zero, zero, zero, zero, zero}, low[5] = {zero, zero, zero, zero, zero};
  for (int i = 4; i >= 0; --i) {
    for (int j = 4 - i; j < 5; ++j) high[i + j - 4] = add_high(high[i + j - 4], a[i], b[j]);
    for (int j = 5 - i; j < 5; ++j) low[i + j - 5] = add_low(low[i + j - 5], a[i], b[j]);
  }
  for (int k = 0; k < 5; ++k) {
    low[k] = _mm512_add_epi64(times2(high[k]), low[k]);
    high[k] = times9(low[k]);
  }
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 5 - i; ++j) low[i + j] = add_low(low[i + j], a[i], b[j]);
    for (int j = 0; j < 4 - i; ++j) high[i + j + 1] = add_high(high[i + j + 1], a[i], b[j]);
  }
  Wide8 out;
  for (int k = 0; k < 5; ++k) out.v[k] = _mm512_add_epi64(times2(high[k]), low[k]);
  return out;
}

// The same with fifteen limb products: those of i ≠ j are summed once and doubled with their sum, high halves with
// i ≠ j twice.
ZKAPEX_LARGE_LANES Wide8 square(const Fe8& x) {
  const __m512i* a = x.v;
  check(x.v, uint64_t{1} << 52);
  const __m512i zero = _mm512_setzero_si512();
  const auto times19 = [](__m512i u) { return _mm512_add_epi64(times2(times9(u)), u); };
  __m512i u[5], s;
  s = add_high(times2(add_high(add_high(zero, a[0], a[4]), a[1], a[3])), a[2], a[2]);
  u[0] = times2(add_low(add_low(s, a[1], a[4]), a[2], a[3]));
  s = times2(add_high(add_high(zero, a[1], a[4]), a[2], a[3]));
  u[1] = add_low(times2(add_low(s, a[2], a[4])), a[3], a[3]);
  s = add_high(times2(add_high(zero, a[2], a[4])), a[3], a[3]);
  u[2] = times2(add_low(s, a[3], a[4]));
  u[3] = add_low(times2(times2(add_high(zero, a[3], a[4]))), a[4], a[4]);
  u[4] = times2(add_high(zero, a[4], a[4]));

  Wide8 r;
  r.v[0] = add_low(times19(u[0]), a[0], a[0]);
  s = times2(add_high(times9(u[1]), a[0], a[0]));
  r.v[1] = _mm512_add_epi64(_mm512_add_epi64(s, u[1]), times2(add_low(zero, a[0], a[1])));
  s = times2(add_low(times2(add_high(zero, a[0], a[1])), a[0], a[2]));
  r.v[2] = _mm512_add_epi64(times19(u[2]), add_low(s, a[1], a[1]));
  s = add_high(times2(add_high(zero, a[0], a[2])), a[1], a[1]);
  r.v[3] = _mm512_add_epi64(times19(u[3]), times2(add_low(add_low(s, a[0], a[3]), a[1], a[2])));
  s = times2(add_high(add_high(zero, a[0], a[3]), a[1], a[2]));
  s = times2(add_low(add_low(s, a[0], a[4]), a[1], a[3]));
  r.v[4] = _mm512_add_epi64(times19(u[4]), add_low(s, a[2], a[2]));
  return r;
}

ZKAPEX_LANES Fe8 multiply(const Fe8& a, const Fe8& b) { return carried(a * b); }

// From eight elements of 5 tight limbs each (field.h), `stride` words apart.
ZKAPEX_LANES Fe8 load(const uint64_t* p, size_t stride) {
  const auto lane = static_cast<long long>(stride);
  const __m512i lanes = _mm512_set_epi64(7 * lane, 6 * lane, 5 * lane, 4 * lane, 3 * lane, 2 * lane, lane, 0);
  Fe8 out;
  for (int k = 0; k < 5; ++k) out.v[k] = _mm512_i64gather_epi64(lanes, p + k, 8);
  return out;
}

// To the same form. What was carried once is tight when it is carried again.
ZKAPEX_LANES void store(const Fe8& a, uint64_t* p, size_t stride) {
  const auto lane = static_cast<long long>(stride);
  const __m512i lanes = _mm512_set_epi64(7 * lane, 6 * lane, 5 * lane, 4 * lane, 3 * lane, 2 * lane, lane, 0);
  const Fe8 tight = carried(wide(a));
  for (int k = 0; k < 5; ++k) _mm512_i64scatter_epi64(p + k, lanes, tight.v[k], 8);
}

ZKAPEX_LANES Fe8 broadcast(const uint64_t* limbs) {
  return {{all(limbs[0]), all(limbs[1]), all(limbs[2]), all(limbs[3]), all(limbs[4])}};
}

inline constexpr uint64_t kZero8[5] = {0, 0, 0, 0, 0};
inline constexpr uint64_t kOne8[5] = {1, 0, 0, 0, 0};
// kOneHalf, kEdwardsD and kEdwards2D of field.h.
inline constexpr uint64_t kHalf8[5] = {0x7fffffffffff7, 0x7ffffffffffff, 0x7ffffffffffff, 0x7ffffffffffff,
                                       0x3ffffffffffff};
inline constexpr uint64_t kD8[5] = {0x34dca135978a3, 0x1a8283b156ebd, 0x5e7a26001c029, 0x739c663a03cbb,
                                    0x52036cee2b6ff};
inline constexpr uint64_t k2D8[5] = {0x69b9426b2f159, 0x35050762add7a, 0x3cf44c0038052, 0x6738cc7407977,
                                     0x2406d9dc56dff};

}  // namespace
}  // namespace zkapex

#endif  // defined(__x86_64__)
