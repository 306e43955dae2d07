// The twisted Edwards curve −x² + y² = 1 + d x² y² in four coordinate systems, with complete addition formulas: they
// hold for every pair of points, equal, opposite or neutral (Hisil, Wong, Carter, Dawson 2008). Points here are
// representatives of ristretto255 elements; point.h has the group itself. All coordinates are tight (field.h).
#pragma once

#include "algebra/field.h"

namespace zkapex {

// (X : Y : Z : T), x = X/Z, y = Y/Z, x y = T/Z.
struct ExtendedPoint {
  Fe X, Y, Z, T;
  static constexpr ExtendedPoint identity() { return {Fe::zero(), Fe::one(), Fe::one(), Fe::zero()}; }
};

// (x, y): what generators and tables are kept as.
struct AffinePoint {
  Fe x, y;
  static constexpr AffinePoint identity() { return {Fe::zero(), Fe::one()}; }
};

// An affine point ready to be added: ((y − x)/2, (y + x)/2, d x y). Halving spares the addition a doubling of Z.
struct NielsPoint {
  Fe minus, plus, td;
  static constexpr NielsPoint identity() { return {kOneHalf, kOneHalf, Fe::zero()}; }
};

// An extended point ready to be added: (Y − X, Y + X, 2Z, 2d T).
struct CachedPoint {
  Fe minus, plus, z2, td2;
};

constexpr ExtendedPoint to_extended(const AffinePoint& p) { return {p.x, p.y, Fe::one(), p.x * p.y}; }

constexpr NielsPoint to_niels(const AffinePoint& p) {
  return {(p.y - p.x) * kOneHalf, (p.y + p.x) * kOneHalf, p.x * p.y * kEdwardsD};
}

constexpr CachedPoint to_cached(const ExtendedPoint& p) {
  return {(p.Y - p.X).carried(), (p.Y + p.X).carried(), (p.Z + p.Z).carried(), p.T * kEdwards2D};
}

constexpr ExtendedPoint negate(const ExtendedPoint& p) { return {(-p.X).carried(), p.Y, p.Z, (-p.T).carried()}; }
constexpr AffinePoint negate(const AffinePoint& p) { return {(-p.x).carried(), p.y}; }
constexpr NielsPoint negate(const NielsPoint& p) { return {p.plus, p.minus, (-p.td).carried()}; }
constexpr CachedPoint negate(const CachedPoint& p) { return {p.plus, p.minus, p.z2, (-p.td2).carried()}; }

// The last step of every addition: E = B − A, F = D − C, G = D + C, H = B + A; (E F : G H : F G : E H).
constexpr ExtendedPoint add_from_parts(const Fe& a, const Fe& b, const Fe& c, const Fe& d) {
  const Fe e = b - a, f = d - c, g = d + c, h = b + a;
  return {e * f, g * h, f * g, e * h};
}

constexpr ExtendedPoint add(const ExtendedPoint& p, const CachedPoint& q) {
  return add_from_parts((p.Y - p.X) * q.minus, (p.Y + p.X) * q.plus, p.T * q.td2, p.Z * q.z2);
}

constexpr ExtendedPoint add(const ExtendedPoint& p, const NielsPoint& q) {
  return add_from_parts((p.Y - p.X) * q.minus, (p.Y + p.X) * q.plus, p.T * q.td, p.Z);
}

// With all four parts of the textbook formula negated, which leaves their products as they are.
constexpr ExtendedPoint twice(const ExtendedPoint& p) {
  const Fe xx = p.X.square(), yy = p.Y.square(), zz = p.Z.square(), sum = (p.X + p.Y).square();
  const Fe h = xx + yy, e = h - sum, g = xx - yy, f = zz + zz + g;
  return {e * f, g * h, f * g, e * h};
}

}  // namespace zkapex
