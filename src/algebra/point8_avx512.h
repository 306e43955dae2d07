// Curve points, eight at a time (field8_avx512.h). The formulas are those of edwards.h, with sums taken before carries.
// Only for *_avx512.cpp files.
#pragma once

#include "algebra/field8_avx512.h"

#if defined(__x86_64__)

namespace zkapex {
namespace {

// An extended point as (Y − X, Y + X, Z, T): what the next addition multiplies by.
struct Extended8 {
  Fe8 minus, plus, Z, T;
};
struct Niels8 {
  Fe8 minus, plus, td;  // ((y − x)/2, (y + x)/2, d x y)
};
struct Cached8 {
  Fe8 minus, plus, z2, td2;  // (Y − X, Y + X, 2Z, 2d T)
};

ZKAPEX_LANES Extended8 identity8() { return {broadcast(kOne8), broadcast(kOne8), broadcast(kOne8), broadcast(kZero8)}; }

// (E F : G H : F G : E H)
ZKAPEX_LANES void set_from_parts(Extended8& p, const Fe8& e, const Fe8& f, const Fe8& g, const Fe8& h) {
  const Wide8 x = e * f, y = g * h;
  p.minus = carried(y - x);
  p.plus = carried(y + x);
  p.T = multiply(e, h);
  p.Z = multiply(f, g);
}

// Seven products, eight carries.
ZKAPEX_LANES void add(Extended8& p, const Niels8& q) {
  const Wide8 a = p.minus * q.minus, b = p.plus * q.plus, c = p.T * q.td, d = wide(p.Z);
  set_from_parts(p, carried(b - a), carried(d - c), carried(d + c), carried(b + a));
}

ZKAPEX_LANES void add(Extended8& p, const Cached8& q) {
  const Wide8 a = p.minus * q.minus, b = p.plus * q.plus, c = p.T * q.td2, d = p.Z * q.z2;
  set_from_parts(p, carried(b - a), carried(d - c), carried(d + c), carried(b + a));
}

// With m = Y − X and s = Y + X: E = s² − m² (that is 4XY), H = −(s² + m²), G = 2 m s, F = G − (2Z)²; twice the parts of
// the textbook formula.
ZKAPEX_LANES void twice(Extended8& p) {
  const Wide8 mm = square(p.minus), ss = square(p.plus), ms = p.minus * p.plus, g = ms + ms;
  const Wide8 zz = square(carried(wide(p.Z) + wide(p.Z)));
  set_from_parts(p, carried(ss - mm), carried(g - zz), carried(g), carried(wide(broadcast(kZero8)) - (ss + mm)));
}

ZKAPEX_LANES Cached8 to_cached(const Extended8& p) {
  return {p.minus, p.plus, carried(wide(p.Z) + wide(p.Z)), multiply(p.T, broadcast(k2D8))};
}

// (plus, minus, −td) in the lanes of `negative`. A carried td subtracted from 2p leaves limbs from 0 to 2^52.
ZKAPEX_LANES Niels8 negate(const Niels8& n, __mmask8 negative) {
  Niels8 out;
  for (int k = 0; k < 5; ++k) {
    out.minus.v[k] = _mm512_mask_blend_epi64(negative, n.minus.v[k], n.plus.v[k]);
    out.plus.v[k] = _mm512_mask_blend_epi64(negative, n.plus.v[k], n.minus.v[k]);
    out.td.v[k] = _mm512_mask_sub_epi64(n.td.v[k], negative, all(2 * (k == 0 ? kMask51 - 18 : kMask51)), n.td.v[k]);
  }
  return out;
}

// Eight words of each of eight places to eight vectors, and back. Halves that are inserted as they are loaded cost less
// than permutations of two vectors do.
template <class Address>
ZKAPEX_LANES void gather(const Address& address, __m512i (&out)[8]) {
  for (int half = 0; half < 8; half += 4) {
    const auto rows = [&](int s) __attribute__((always_inline)) {  // s and s + 2
      const auto words = [&](int row) __attribute__((always_inline)) {
        return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(address(row) + half));
      };
      return _mm512_inserti64x4(_mm512_castsi256_si512(words(s)), words(s + 2), 1);
    };
    const __m512i a = rows(0), b = rows(1), c = rows(4), d = rows(5);
    const __m512i even_low = _mm512_unpacklo_epi64(a, b), even_high = _mm512_unpacklo_epi64(c, d);
    const __m512i odd_low = _mm512_unpackhi_epi64(a, b), odd_high = _mm512_unpackhi_epi64(c, d);
    out[half] = _mm512_shuffle_i64x2(even_low, even_high, 0x88);
    out[half + 1] = _mm512_shuffle_i64x2(odd_low, odd_high, 0x88);
    out[half + 2] = _mm512_shuffle_i64x2(even_low, even_high, 0xdd);
    out[half + 3] = _mm512_shuffle_i64x2(odd_low, odd_high, 0xdd);
  }
}
template <class Address>
ZKAPEX_LANES void scatter(const Address& address, const __m512i (&in)[8]) {
  __m512i out[8];
  transpose(in, out);
  for (int s = 0; s < 8; ++s) _mm512_storeu_si512(address(s), out[s]);
}

// A Niels point in memory: 16 words, five limbs of minus, of plus, of td, and a zero. address(s) is that of point s.
template <class Address>
ZKAPEX_LANES Niels8 gather_niels(const Address& address) {
  __m512i a[8], b[8];
  gather(
      [&](int s) __attribute__((always_inline)) { return address(s); }, a);
  gather(
      [&](int s) __attribute__((always_inline)) { return address(s) + 8; }, b);
  return {{{a[0], a[1], a[2], a[3], a[4]}}, {{a[5], a[6], a[7], b[0], b[1]}}, {{b[2], b[3], b[4], b[5], b[6]}}};
}
template <class Address>
ZKAPEX_LANES void scatter_niels(const Niels8& n, const Address& address) {
  const __m512i *m = n.minus.v, *p = n.plus.v, *t = n.td.v;
  const __m512i first[8] = {m[0], m[1], m[2], m[3], m[4], p[0], p[1], p[2]};
  const __m512i second[8] = {p[3], p[4], t[0], t[1], t[2], t[3], t[4], _mm512_setzero_si512()};
  scatter(
      [&](int s) __attribute__((always_inline)) { return address(s); }, first);
  scatter(
      [&](int s) __attribute__((always_inline)) { return address(s) + 8; }, second);
}
ZKAPEX_LANES Niels8 broadcast_niels(const uint64_t* p) { return {broadcast(p), broadcast(p + 5), broadcast(p + 10)}; }

// An extended point in memory: 20 words, five limbs each of minus, plus, Z and T.
template <class Address>
ZKAPEX_LANES Extended8 gather_extended(const Address& address) {
  __m512i a[8], b[8], rest[4], c[4];
  gather(
      [&](int s) __attribute__((always_inline)) { return address(s); }, a);
  gather(
      [&](int s) __attribute__((always_inline)) { return address(s) + 8; }, b);
  for (int s = 0; s < 4; ++s) {
    const auto words = [&](int point) __attribute__((always_inline)) {
      return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(address(point) + 16));
    };
    rest[s] = _mm512_inserti64x4(_mm512_castsi256_si512(words(s)), words(4 + s), 1);
  }
  transpose_halves(rest, c);
  return {{{a[0], a[1], a[2], a[3], a[4]}},
          {{a[5], a[6], a[7], b[0], b[1]}},
          {{b[2], b[3], b[4], b[5], b[6]}},
          {{b[7], c[0], c[1], c[2], c[3]}}};
}
template <class Address>
ZKAPEX_LANES void scatter_extended(const Extended8& e, const Address& address) {
  const __m512i *m = e.minus.v, *p = e.plus.v, *z = e.Z.v, *t = e.T.v;
  const __m512i first[8] = {m[0], m[1], m[2], m[3], m[4], p[0], p[1], p[2]};
  const __m512i second[8] = {p[3], p[4], z[0], z[1], z[2], z[3], z[4], t[0]};
  scatter(
      [&](int s) __attribute__((always_inline)) { return address(s); }, first);
  scatter(
      [&](int s) __attribute__((always_inline)) { return address(s) + 8; }, second);
  __m512i rest[4];
  transpose_halves(t + 1, rest);
  for (int s = 0; s < 4; ++s) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(address(s) + 16), _mm512_castsi512_si256(rest[s]));
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(address(4 + s) + 16), _mm512_extracti64x4_epi64(rest[s], 1));
  }
}

// Between eight ExtendedPoints of edwards.h, 20 words each, and the form of this file. On the way out all coordinates
// are doubled, which is the same point.
ZKAPEX_LANES Extended8 load_extended(const uint64_t* p) {
  const Fe8 x = load(p, 20), y = load(p + 5, 20);
  return {carried(wide(y) - wide(x)), carried(wide(y) + wide(x)), load(p + 10, 20), load(p + 15, 20)};
}
ZKAPEX_LANES void store_extended(const Extended8& e, uint64_t* p) {
  store(carried(wide(e.plus) - wide(e.minus)), p, 20);
  store(carried(wide(e.plus) + wide(e.minus)), p + 5, 20);
  store(carried(wide(e.Z) + wide(e.Z)), p + 10, 20);
  store(carried(wide(e.T) + wide(e.T)), p + 15, 20);
}

}  // namespace
}  // namespace zkapex

#endif  // defined(__x86_64__)
