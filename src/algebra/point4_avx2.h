// Curve points, four at a time (field4_avx2.h). The formulas are those of edwards.h. Only for *_avx2.cpp files.
#pragma once

#include "algebra/field4_avx2.h"

#if defined(__x86_64__)

namespace zkapex {
namespace {

struct Extended4 {
  Fe4<1> X, Y, Z, T;
};
struct Niels4 {
  Fe4<1> minus, plus, td;  // ((y − x)/2, (y + x)/2, d x y)
};
struct Cached4 {
  Fe4<2> minus, plus, z2;  // (Y − X, Y + X, 2Z, 2d T)
  Fe4<1> td2;
};

ZKAPEX_LANES Extended4 identity4() {
  return {broadcast(kZero4), broadcast(kOne4), broadcast(kOne4), broadcast(kZero4)};
}

ZKAPEX_LANES void add_from_parts(Extended4& p, const Fe4<1>& a, const Fe4<1>& b, const Fe4<1>& c, const Fe4<1>& d) {
  const Fe4<2> e = b - a, f = d - c, g = d + c, h = b + a;
  p.X = e * f;
  p.Y = g * h;
  p.T = e * h;
  p.Z = f * g;
}

ZKAPEX_LANES void add(Extended4& p, const Niels4& q) {
  const Fe4<1> a = (p.Y - p.X) * q.minus, b = (p.Y + p.X) * q.plus, c = p.T * q.td;
  add_from_parts(p, a, b, c, p.Z);
}

ZKAPEX_LANES void add(Extended4& p, const Cached4& q) {
  const Fe4<1> a = (p.Y - p.X) * q.minus, b = (p.Y + p.X) * q.plus, c = p.T * q.td2, d = p.Z * q.z2;
  add_from_parts(p, a, b, c, d);
}

ZKAPEX_LANES void twice(Extended4& p) {
  const Fe4<1> xx = square(p.X), yy = square(p.Y), zz = square(p.Z), sum = square(carried(p.X + p.Y));
  const Fe4<2> h = xx + yy, g = xx - yy;
  const Fe4<3> e = h - sum;
  const Fe4<1> f = carried(zz + zz + g);
  p.X = e * f;
  p.Y = g * h;
  p.Z = f * g;
  p.T = e * h;
}

ZKAPEX_LANES Cached4 to_cached(const Extended4& p) { return {p.Y - p.X, p.Y + p.X, p.Z + p.Z, p.T * broadcast(k2D4)}; }

// 4×4 transposition: lane s of out[k] is p_s[k].
ZKAPEX_LARGE_LANES void gather(const double* p0, const double* p1, const double* p2, const double* p3, __m256d& out0,
                               __m256d& out1, __m256d& out2, __m256d& out3) {
  const auto pair = [](const double* low, const double* high) __attribute__((always_inline)) {
    return _mm256_insertf128_pd(_mm256_castpd128_pd256(_mm_load_pd(low)), _mm_load_pd(high), 1);
  };
  const __m256d a = pair(p0, p2), b = pair(p1, p3), c = pair(p0 + 2, p2 + 2), d = pair(p1 + 2, p3 + 2);
  out0 = _mm256_unpacklo_pd(a, b);
  out1 = _mm256_unpackhi_pd(a, b);
  out2 = _mm256_unpacklo_pd(c, d);
  out3 = _mm256_unpackhi_pd(c, d);
}

// The way back: p_s[k] is lane s of in_k.
ZKAPEX_LARGE_LANES void scatter(double* p0, double* p1, double* p2, double* p3, __m256d in0, __m256d in1, __m256d in2,
                                __m256d in3) {
  const __m256d a = _mm256_unpacklo_pd(in0, in1), b = _mm256_unpackhi_pd(in0, in1);
  const __m256d c = _mm256_unpacklo_pd(in2, in3), d = _mm256_unpackhi_pd(in2, in3);
  _mm_store_pd(p0, _mm256_castpd256_pd128(a));
  _mm_store_pd(p0 + 2, _mm256_castpd256_pd128(c));
  _mm_store_pd(p1, _mm256_castpd256_pd128(b));
  _mm_store_pd(p1 + 2, _mm256_castpd256_pd128(d));
  _mm_store_pd(p2, _mm256_extractf128_pd(a, 1));
  _mm_store_pd(p2 + 2, _mm256_extractf128_pd(c, 1));
  _mm_store_pd(p3, _mm256_extractf128_pd(b, 1));
  _mm_store_pd(p3 + 2, _mm256_extractf128_pd(d, 1));
}

// A Niels point in memory: 16 doubles, limbs 0 to 3 of minus, plus, td, then limb 4 of each and a zero.
ZKAPEX_LANES Niels4 gather_niels(const double* p0, const double* p1, const double* p2, const double* p3) {
  Niels4 n;
  __m256d zero;
  gather(p0, p1, p2, p3, n.minus.v[0], n.minus.v[1], n.minus.v[2], n.minus.v[3]);
  gather(p0 + 4, p1 + 4, p2 + 4, p3 + 4, n.plus.v[0], n.plus.v[1], n.plus.v[2], n.plus.v[3]);
  gather(p0 + 8, p1 + 8, p2 + 8, p3 + 8, n.td.v[0], n.td.v[1], n.td.v[2], n.td.v[3]);
  gather(p0 + 12, p1 + 12, p2 + 12, p3 + 12, n.minus.v[4], n.plus.v[4], n.td.v[4], zero);
  return n;
}

// The same with the opposite point in the lanes where negative[s] is 1: minus and plus change places, td its sign.
ZKAPEX_LANES Niels4 gather_signed_niels(const double* const (&p)[4], const int64_t (&negative)[4]) {
  Niels4 n;
  __m256d zero, minus4, plus4;
  const double *a[4], *b[4];
  for (int s = 0; s < 4; ++s) {
    a[s] = p[s] + 4 * negative[s];
    b[s] = p[s] + 4 - 4 * negative[s];
  }
  gather(a[0], a[1], a[2], a[3], n.minus.v[0], n.minus.v[1], n.minus.v[2], n.minus.v[3]);
  gather(b[0], b[1], b[2], b[3], n.plus.v[0], n.plus.v[1], n.plus.v[2], n.plus.v[3]);
  gather(p[0] + 8, p[1] + 8, p[2] + 8, p[3] + 8, n.td.v[0], n.td.v[1], n.td.v[2], n.td.v[3]);
  gather(p[0] + 12, p[1] + 12, p[2] + 12, p[3] + 12, minus4, plus4, n.td.v[4], zero);
  const __m256i signs = _mm256_slli_epi64(_mm256_set_epi64x(negative[3], negative[2], negative[1], negative[0]), 63);
  n.minus.v[4] = _mm256_blendv_pd(minus4, plus4, as_doubles(signs));
  n.plus.v[4] = _mm256_blendv_pd(plus4, minus4, as_doubles(signs));
  for (__m256d& limb : n.td.v) limb = _mm256_xor_pd(limb, as_doubles(signs));
  return n;
}

ZKAPEX_LANES Niels4 negate(const Niels4& n) {
  Niels4 out = {n.plus, n.minus, n.td};
  for (__m256d& limb : out.td.v) limb = _mm256_xor_pd(limb, all(-0.0));
  return out;
}

ZKAPEX_LANES Niels4 broadcast_niels(const double* p) {
  return {{{all(p[0]), all(p[1]), all(p[2]), all(p[3]), all(p[12])}},
          {{all(p[4]), all(p[5]), all(p[6]), all(p[7]), all(p[13])}},
          {{all(p[8]), all(p[9]), all(p[10]), all(p[11]), all(p[14])}}};
}

ZKAPEX_LANES void scatter_niels(const Niels4& n, double* p0, double* p1, double* p2, double* p3) {
  const __m256d zero = _mm256_setzero_pd();
  scatter(p0, p1, p2, p3, n.minus.v[0], n.minus.v[1], n.minus.v[2], n.minus.v[3]);
  scatter(p0 + 4, p1 + 4, p2 + 4, p3 + 4, n.plus.v[0], n.plus.v[1], n.plus.v[2], n.plus.v[3]);
  scatter(p0 + 8, p1 + 8, p2 + 8, p3 + 8, n.td.v[0], n.td.v[1], n.td.v[2], n.td.v[3]);
  scatter(p0 + 12, p1 + 12, p2 + 12, p3 + 12, n.minus.v[4], n.plus.v[4], n.td.v[4], zero);
}

// An extended point in memory: 20 doubles, limbs 0 to 3 of X, Y, Z, T, then limb 4 of each.
ZKAPEX_LANES Extended4 gather_extended(const double* p0, const double* p1, const double* p2, const double* p3) {
  Extended4 e;
  gather(p0, p1, p2, p3, e.X.v[0], e.X.v[1], e.X.v[2], e.X.v[3]);
  gather(p0 + 4, p1 + 4, p2 + 4, p3 + 4, e.Y.v[0], e.Y.v[1], e.Y.v[2], e.Y.v[3]);
  gather(p0 + 8, p1 + 8, p2 + 8, p3 + 8, e.Z.v[0], e.Z.v[1], e.Z.v[2], e.Z.v[3]);
  gather(p0 + 12, p1 + 12, p2 + 12, p3 + 12, e.T.v[0], e.T.v[1], e.T.v[2], e.T.v[3]);
  gather(p0 + 16, p1 + 16, p2 + 16, p3 + 16, e.X.v[4], e.Y.v[4], e.Z.v[4], e.T.v[4]);
  return e;
}

ZKAPEX_LANES void scatter_extended(const Extended4& e, double* p0, double* p1, double* p2, double* p3) {
  scatter(p0, p1, p2, p3, e.X.v[0], e.X.v[1], e.X.v[2], e.X.v[3]);
  scatter(p0 + 4, p1 + 4, p2 + 4, p3 + 4, e.Y.v[0], e.Y.v[1], e.Y.v[2], e.Y.v[3]);
  scatter(p0 + 8, p1 + 8, p2 + 8, p3 + 8, e.Z.v[0], e.Z.v[1], e.Z.v[2], e.Z.v[3]);
  scatter(p0 + 12, p1 + 12, p2 + 12, p3 + 12, e.T.v[0], e.T.v[1], e.T.v[2], e.T.v[3]);
  scatter(p0 + 16, p1 + 16, p2 + 16, p3 + 16, e.X.v[4], e.Y.v[4], e.Z.v[4], e.T.v[4]);
}

ZKAPEX_LANES Extended4 load_extended(const uint64_t* p) {
  return {load(p, 20), load(p + 5, 20), load(p + 10, 20), load(p + 15, 20)};
}
ZKAPEX_LANES void store_extended(const Extended4& e, uint64_t* p) {
  store(e.X, p, 20);
  store(e.Y, p + 5, 20);
  store(e.Z, p + 10, 20);
  store(e.T, p + 15, 20);
}

// From halves x/2 and y/2.
ZKAPEX_LANES Niels4 niels_from_halves(const Fe4<1>& x, const Fe4<1>& y) {
  return {carried(y - x), carried(y + x), x * y * broadcast(k4D4)};
}

}  // namespace
}  // namespace zkapex

#endif  // defined(__x86_64__)
