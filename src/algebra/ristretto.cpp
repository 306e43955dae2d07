#include "algebra/ristretto.h"

namespace zkapex::ristretto {

Encoding::Encoding(const ExtendedPoint& p)
    : p_(p), u1_((p.Z + p.Y) * (p.Z - p.Y)), u2_(p.X * p.Y), v_(u1_ * u2_.square()) {}

Encoding::Output Encoding::finish(const Fe& power) const {
  const Fe root = finish_sqrt_ratio_m1(Fe::one(), v_, power).root;
  const Fe den1 = root * u1_, den2 = root * u2_, z_inverse = den1 * den2 * p_.T;
  const bool rotate = (p_.T * z_inverse).is_negative();
  const Fe x = select(rotate, p_.Y * kSqrtM1, p_.X);
  const Fe y = select(rotate, p_.X * kSqrtM1, p_.Y);
  const Fe den_inverse = select(rotate, den1 * kInvSqrtAMinusD, den2);
  const bool flip = (x * z_inverse).is_negative();
  const Fe signed_y = select(flip, (-y).carried(), y);
  return (den_inverse * (p_.Z - signed_y)).abs().to_bytes();
}

Decoding::Decoding(std::span<const uint8_t, 32> bytes) {
  const std::optional<Fe> s = Fe::from_canonical_bytes(bytes);
  valid_ = s.has_value() && !s->is_negative();
  s_ = s.value_or(Fe::zero());
  const Fe ss = s_.square();
  u1_ = (Fe::one() - ss).carried();
  u2_ = (Fe::one() + ss).carried();
  const Fe u2_squared = u2_.square();
  v_ = (-(kEdwardsD * u1_.square()) - u2_squared).carried();
  w_ = v_ * u2_squared;
}

Decoding::Output Decoding::finish(const Fe& power) const {
  const SquareRoot inverse = finish_sqrt_ratio_m1(Fe::one(), w_, power);
  const Fe den_x = inverse.root * u2_, den_y = inverse.root * den_x * v_;
  const Fe x = ((s_ + s_) * den_x).abs(), y = u1_ * den_y, t = x * y;
  if (!valid_ || !inverse.was_square || t.is_negative() || y.is_zero()) return std::nullopt;
  return ExtendedPoint{x, y, Fe::one(), t};
}

Map::Map(std::span<const uint8_t, 32> bytes)
    : t_(Fe::from_bytes(bytes)),
      r_(kSqrtM1 * t_.square()),
      u_((r_ + Fe::one()) * kOneMinusDSq),
      v_((-Fe::one() - r_ * kEdwardsD) * (r_ + kEdwardsD)) {}

Map::Output Map::finish(const Fe& power) const {
  const SquareRoot ratio = finish_sqrt_ratio_m1(u_, v_, power);
  const Fe s_prime = (-(ratio.root * t_).abs()).carried();
  const Fe s = select(ratio.was_square, ratio.root, s_prime);
  const Fe c = select(ratio.was_square, (-Fe::one()).carried(), r_);
  const Fe n = c * (r_ - Fe::one()) * kDMinusOneSq - v_;
  const Fe ss = s.square();
  const Fe w0 = (s + s) * v_, w1 = n * kSqrtAdMinusOne, w2 = Fe::one() - ss, w3 = Fe::one() + ss;
  return {w0 * w3, w2 * w1, w1 * w3, w0 * w2};
}

}  // namespace zkapex::ristretto
