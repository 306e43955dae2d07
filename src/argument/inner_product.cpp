#include "argument/inner_product.h"

#include <algorithm>

#include "algebra/msm.h"
#include "base/bits.h"

namespace zkapex {

namespace {

Point commit_var(const Generators& g, std::span<const Scalar> a, ThreadPool& pool) {
  return msm_var(a, g.positions().first(a.size()), pool).value();
}

// The coefficient of generator i after the challenges so far: Π x⁻¹ over the rounds in which i was in the upper half.
// Round k halves length 2^(rounds − k); its upper half has bit rounds − 1 − k set.
std::vector<Scalar> generator_weights(size_t length, unsigned rounds, std::span<const Scalar> inverse_challenges) {
  std::vector<Scalar> weight(length, Scalar::one());
  for (unsigned k = rounds; k-- > 0;) {
    const size_t bit = size_t{1} << (rounds - 1 - k);
    const Scalar factor = k < inverse_challenges.size() ? inverse_challenges[k] : Scalar::one();
    for (size_t i = bit; i < std::min(2 * bit, length); ++i) weight[i] = weight[i - bit] * factor;
  }
  return weight;
}

// Adding up generators takes as long as two rounds over all of them; after four rounds a sixteenth is left.
constexpr unsigned kRoundsUnfolded = 4;

// base_j ← Σ_t weight base over i = j + t · length; all weights become 1.
void fold_base(std::vector<AffinePoint>& base, std::vector<Scalar>& weight, size_t length, ThreadPool& pool) {
  std::vector<Scalar> factors;  // the weight depends only on t
  for (size_t i = 0; i < weight.size(); i += length) factors.push_back(weight[i]);
  base = batch_to_affine(fold_points_var(base, factors, length, pool), &pool);
  weight.assign(length, Scalar::one());
}

// lo + x hi, where hi may be shorter.
void fold_halves(std::vector<Scalar>& v, size_t half, const Scalar& x) {
  for (size_t i = half; i < v.size(); ++i) v[i - half] += x * v[i];
  v.resize(std::min(v.size(), half));
}

// <a_lo, b_hi>
Scalar cross(const std::vector<Scalar>& a, const std::vector<Scalar>& b, size_t half) {
  ScalarAccumulator sum;
  for (size_t i = half; i < b.size(); ++i) sum.add_product(a[i - half], b[i]);
  return sum.reduce();
}

}  // namespace

OpeningProof prove_inner_product(Transcript& transcript, const Generators& generators, std::span<const Scalar> a,
                                 const Scalar& alpha, std::span<const Scalar> b, Nonces& nonces, ThreadPool& pool) {
  OpeningProof proof;
  const SecretVector<Scalar> mask = nonces.scalars(a.size());
  const Wiped<Scalar> delta(nonces.scalar());
  proof.mask =
      (commit_var(generators, {mask.data(), mask.size()}, pool) + multiply(generators.blinding(), *delta)).encode();
  proof.mask_value = inner_product({mask.data(), mask.size()}, b);
  transcript.absorb("mask", {&proof.mask, 1});
  transcript.absorb("mask value", {&proof.mask_value, 1});
  const Scalar c = transcript.challenge("opening");
  proof.blinding = *delta + c * alpha;
  transcript.absorb("blinding", {&proof.blinding, 1});
  const Scalar rho = transcript.challenge("value base");

  // From here on the vector is uniform: it hides a, and needs no care.
  std::vector<Scalar> v(a.size()), u(b.begin(), b.end());
  for (size_t i = 0; i < v.size(); ++i) v[i] = mask[i] + c * a[i];
  // The generators as they fold: weight_i · base_i, where those that are 2 half apart still have to be added up.
  std::vector<AffinePoint> base(generators.positions().begin(),
                                generators.positions().begin() + static_cast<std::ptrdiff_t>(a.size()));
  std::vector<Scalar> weight(v.size(), Scalar::one());
  const unsigned rounds = log2_ceil(a.size());
  for (unsigned k = 0; k < rounds; ++k) {
    const size_t half = size_t{1} << (rounds - 1 - k);
    if (k == kRoundsUnfolded) fold_base(base, weight, 2 * half, pool);
    // Base i stands at i mod 2 half now; in the upper half it meets a_lo (L), in the lower one a_hi (R).
    std::vector<Scalar> left, right;
    std::vector<AffinePoint> left_base, right_base;
    for (size_t i = 0; i < weight.size(); ++i) {
      const size_t at = i % (2 * half);
      if (at >= half) {
        left.push_back(weight[i] * v[at - half]);
        left_base.push_back(base[i]);
      } else if (at + half < v.size()) {
        right.push_back(weight[i] * v[at + half]);
        right_base.push_back(base[i]);
      }
    }
    const Point l = msm_var(left, left_base, pool).value() + multiply(generators.value(), rho * cross(v, u, half));
    const Point r = msm_var(right, right_base, pool).value() + multiply(generators.value(), rho * cross(u, v, half));
    proof.left.push_back(l.encode());
    proof.right.push_back(r.encode());
    transcript.absorb("left", {&proof.left.back(), 1});
    transcript.absorb("right", {&proof.right.back(), 1});
    const Scalar x = transcript.challenge("fold"), inverse = x.inverse();
    fold_halves(v, half, x);
    fold_halves(u, half, inverse);
    for (size_t i = 0; i < weight.size(); ++i) {
      if ((i & half) != 0) weight[i] *= inverse;
    }
  }
  proof.last = v[0];
  return proof;
}

Result<Point, Rejection> decode_proof_point(const EncodedPoint& bytes, std::string_view what) {
  const Result<Point> point = Point::decode(bytes);
  if (!point) return Rejection{Reason::kPoint, fmt::format("{}: {}", what, point.error().message)};
  if (point->is_identity()) return Rejection{Reason::kPoint, fmt::format("{}: the identity", what)};
  return *point;
}

Result<Scalar, Rejection> verify_inner_product(Transcript& transcript, const OpeningProof& proof,
                                               std::span<const Scalar> b, const Scalar& value, PointSum& sum) {
  ZKAPEX_TRY(const Point mask, decode_proof_point(proof.mask, "mask of the opening"));
  transcript.absorb("mask", {&proof.mask, 1});
  transcript.absorb("mask value", {&proof.mask_value, 1});
  const Scalar c = transcript.challenge("opening");
  transcript.absorb("blinding", {&proof.blinding, 1});
  const Scalar rho = transcript.challenge("value base");
  sum.add(mask, Scalar::one());
  sum.add_blinding(-proof.blinding);

  const auto rounds = static_cast<unsigned>(proof.left.size());
  std::vector<Scalar> challenges, inverses;
  for (unsigned k = 0; k < rounds; ++k) {
    transcript.absorb("left", {&proof.left[k], 1});
    transcript.absorb("right", {&proof.right[k], 1});
    challenges.push_back(transcript.challenge("fold"));
  }
  inverses = challenges;
  batch_invert(inverses);
  for (unsigned k = 0; k < rounds; ++k) {
    ZKAPEX_TRY(const Point left, decode_proof_point(proof.left[k], "left point of the opening"));
    ZKAPEX_TRY(const Point right, decode_proof_point(proof.right[k], "right point of the opening"));
    sum.add(left, inverses[k]);
    sum.add(right, challenges[k]);
  }
  // P = last · (Σ weight_i g_i + ρ Σ weight_i b_i q): b folds as the generators do.
  const std::vector<Scalar> weight = generator_weights(b.size(), rounds, inverses);
  for (size_t i = b.size(); i-- > 0;) sum.add_generator(i, -(proof.last * weight[i]));  // the largest index first
  sum.add_value(rho * (proof.mask_value + c * value - proof.last * inner_product(weight, b)));
  return c;
}

}  // namespace zkapex
