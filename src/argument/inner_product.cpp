#include "argument/inner_product.h"

#include <algorithm>

#include "algebra/msm.h"
#include "algebra/multilinear.h"
#include "base/bits.h"

namespace zkapex {

namespace {

// <weight, b>, which is b folded as generators are. Where b is a product as the weights are, the sum is one too: each
// bit of an index adds up by itself. `factors` are the weights'.
Scalar folded_product(const FoldedWeights& weight, std::span<const Scalar> factors, const OpeningVector& b) {
  const size_t variables = b.point.size(), first_other = size_t{1} << variables;
  Scalar product = weight[0] * b.factor;
  for (size_t t = 0; t < variables; ++t) {
    const Scalar& x = b.point[t];
    product *= Scalar::one() - x + x * factors[factors.size() - variables + t];
  }
  ScalarAccumulator others;
  for (size_t k = 0; k < b.others.size(); ++k) others.add_product(weight[first_other + k], b.others[k]);
  return product + others.reduce();
}

// Adding up generators takes as long as two rounds over all of them; after four rounds a sixteenth is left.
constexpr unsigned kRoundsUnfolded = 4;

// The generators as they fold. Those that stand at the same place of a block of `length` have to be added up still,
// each times its block's factor.
class FoldingBase {
 public:
  explicit FoldingBase(std::span<const AffinePoint> points) : points_(points), factors_{Scalar::one()} {}

  // Σ over the upper halves of blocks of generator · v_lo, which is L without its value; or over the lower ones, with
  // v_hi.
  [[nodiscard]] Point meet_var(bool upper, size_t half, std::span<const Scalar> v, ThreadPool& pool) const {
    const std::span<const Scalar> other =
        upper ? v.first(std::min(half, v.size())) : v.subspan(std::min(half, v.size()));
    std::vector<WeightedPoints> terms;
    for (size_t t = 0; t < factors_.size(); ++t) {
      const size_t first = std::min(points_.size(), 2 * half * t + (upper ? half : 0));
      const size_t count = std::min({half, points_.size() - first, other.size()});
      terms.push_back({points_.subspan(first, count), other.first(count), factors_[t]});
    }
    return msm_var(terms, pool).value();
  }

  // After a round: blocks have half the length.
  void bind(const Scalar& inverse) {
    std::vector<Scalar> next;
    for (const Scalar& factor : factors_) next.insert(next.end(), {factor, factor * inverse});
    factors_ = std::move(next);
  }
  // Adds up all blocks of `length`.
  void add_up_var(size_t length, ThreadPool& pool) {
    factors_.resize((points_.size() + length - 1) / length);
    folded_ = batch_to_affine(fold_points_var(points_, factors_, length, pool), &pool);
    points_ = folded_;
    factors_ = {Scalar::one()};
  }

 private:
  std::span<const AffinePoint> points_;
  std::vector<AffinePoint> folded_;
  std::vector<Scalar> factors_;  // of blocks
};

// lo + x hi, where hi may be shorter.
template <class Vector>
void fold_halves(Vector& v, size_t half, const Scalar& x) {
  for (size_t i = half; i < v.size(); ++i) v[i - half] += x * v[i];
  v.resize(std::min(v.size(), half));
}

// <a_lo, b_hi>
Scalar cross(std::span<const Scalar> a, std::span<const Scalar> b, size_t half) {
  ScalarAccumulator sum;
  for (size_t i = half; i < b.size(); ++i) sum.add_product(a[i - half], b[i]);
  return sum.reduce();
}

}  // namespace

OpeningProof prove_inner_product(Transcript& transcript, const Generators& generators, SecretVector<Scalar> a,
                                 const Scalar& alpha, std::vector<Scalar> b, Nonces& nonces, ThreadPool& pool) {
  OpeningProof proof;
  {
    const SecretVector<Scalar> mask = nonces.scalars(a.size());
    const Wiped<Scalar> delta(nonces.scalar());
    proof.mask = (msm_var({mask.data(), mask.size()}, generators.positions().first(mask.size()), pool).value() +
                  multiply(generators.blinding(), *delta))
                     .encode();
    proof.mask_value = inner_product({mask.data(), mask.size()}, b);
    transcript.absorb("mask", {&proof.mask, 1});
    transcript.absorb("mask value", {&proof.mask_value, 1});
    const Scalar c = transcript.challenge("opening");
    proof.blinding = *delta + c * alpha;
    transcript.absorb("blinding", {&proof.blinding, 1});
    for (size_t i = 0; i < a.size(); ++i) a[i] = mask[i] + c * a[i];
  }
  const Scalar rho = transcript.challenge("value base");

  // From here on the vector is uniform: it hides what it was, and needs no care.
  const auto vector = [&] { return std::span<const Scalar>(a.data(), a.size()); };
  FoldingBase base(generators.positions().first(a.size()));
  const unsigned rounds = log2_ceil(a.size());
  for (unsigned k = 0; k < rounds; ++k) {
    const size_t half = size_t{1} << (rounds - 1 - k);
    if (k == kRoundsUnfolded) base.add_up_var(2 * half, pool);
    // A generator of the upper half meets a_lo (L), one of the lower half a_hi (R).
    const Point l =
        base.meet_var(true, half, vector(), pool) + multiply(generators.value(), rho * cross(vector(), b, half));
    const Point r =
        base.meet_var(false, half, vector(), pool) + multiply(generators.value(), rho * cross(b, vector(), half));
    proof.left.push_back(l.encode());
    proof.right.push_back(r.encode());
    transcript.absorb("left", {&proof.left.back(), 1});
    transcript.absorb("right", {&proof.right.back(), 1});
    const Scalar x = transcript.challenge("fold"), inverse = x.inverse();
    fold_halves(a, half, x);
    fold_halves(b, half, inverse);
    base.bind(inverse);
  }
  proof.last = a[0];
  return proof;
}

Result<std::vector<AffinePoint>, Rejection> decode_points(std::span<const EncodedPoint> points, std::string_view what,
                                                          ThreadPool* pool) {
  Result<std::vector<AffinePoint>> out = decode_batch(points, pool);
  if (!out) return Rejection{Reason::kPoint, fmt::format("{}: {}", what, out.error().message)};
  const auto identity = std::ranges::find(points, Point::identity().encode());
  if (identity != points.end())
    return Rejection{Reason::kPoint, fmt::format("{}: element {} is the identity", what, identity - points.begin())};
  return *std::move(out);
}

std::vector<Scalar> OpeningVector::entries() const {
  std::vector<Scalar> out;
  out.reserve(size());
  for (const Scalar& entry : eq_table(point)) out.push_back(entry * factor);
  out.insert(out.end(), others.begin(), others.end());
  return out;
}

Result<Scalar, Rejection> verify_inner_product(Transcript& transcript, const OpeningProof& proof,
                                               const OpeningVector& b, const Scalar& value, PointSum& sum) {
  ZKAPEX_TRY(const std::vector<AffinePoint> mask, decode_points({&proof.mask, 1}, "mask of the opening"));
  ZKAPEX_TRY(const std::vector<AffinePoint> left, decode_points(proof.left, "left point of the opening"));
  ZKAPEX_TRY(const std::vector<AffinePoint> right, decode_points(proof.right, "right point of the opening"));
  transcript.absorb("mask", {&proof.mask, 1});
  transcript.absorb("mask value", {&proof.mask_value, 1});
  const Scalar c = transcript.challenge("opening");
  transcript.absorb("blinding", {&proof.blinding, 1});
  const Scalar rho = transcript.challenge("value base");
  sum.add(mask[0], Scalar::one());
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
    sum.add(left[k], inverses[k]);
    sum.add(right[k], challenges[k]);
  }
  // P = last · (Σ weight_i g_i + ρ Σ weight_i b_i q). The weight of generator i is Π x⁻¹ over the rounds in which i was
  // in the upper half; the first halves by the highest bit.
  FoldedWeights weight(-proof.last, inverses, b.size());
  sum.add_value(rho * (proof.mask_value + c * value + folded_product(weight, inverses, b)));
  sum.add_generators(std::move(weight));
  return c;
}

}  // namespace zkapex
