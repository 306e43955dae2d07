#include "argument/verifier.h"

#include "algebra/multilinear.h"
#include "argument/nonces.h"
#include "argument/sumcheck.h"

namespace zkapex {

std::vector<Scalar> powers(const Scalar& x, size_t count) {
  std::vector<Scalar> out(count, Scalar::one());
  for (size_t k = 1; k < count; ++k) out[k] = out[k - 1] * x;
  return out;
}

ArgumentVerifier::ArgumentVerifier(const ProofShape& shape, const Proof& proof) : shape_(shape), proof_(proof) {
  size_t first = 0;
  for (const size_t scalars : shape.forks) {
    first_pads_.push_back(static_cast<uint32_t>(first));
    first += scalars;
  }
}

Receiver ArgumentVerifier::fork(size_t index, Transcript& transcript) const {
  return {transcript, proof_.forks[index], first_pads_[index]};
}

ArgumentVerifier::Reduced ArgumentVerifier::reduce_pairs(Receiver& channel, std::span<const VerifierPair> pairs) {
  const std::vector<Scalar> weight = powers(channel.transcript().challenge("beta"), pairs.size());
  Expression claim;
  for (size_t p = 0; p < pairs.size(); ++p) claim += pairs[p].value * weight[p];
  SumcheckClaim end = verify_sumcheck(channel, "position", shape_.position_rounds(), 2, std::move(claim));
  std::vector<Expression> values = channel.receive("t(xi)", pairs.size());
  for (size_t p = 0; p < pairs.size(); ++p) {
    end.claim += values[p] * -(weight[p] * eq(pairs[p].point, end.point));
  }
  require_zero(std::move(end.claim));
  return {std::move(end.point), std::move(values)};
}

void ArgumentVerifier::check_products(Receiver& channel, std::span<const VerifierProduct> products) {
  Transcript& transcript = channel.transcript();
  const Scalar omega = transcript.challenge("omega");
  const std::vector<Expression> t = channel.receive("T0, T1", 2);
  const Scalar e = transcript.challenge("e");
  transcript.absorb("masked factors", proof_.masked_factors);
  // Σ ω^t (z_a z_b − e² c) = T0 + e T1, with z_a = a' + e a and z_b = b' + e b for masks a', b' among the pads.
  const auto first_mask = static_cast<uint32_t>(shape_.sealed_scalars());
  Expression sum = t[0] + t[1] * e;
  Scalar weight = Scalar::one();
  for (size_t k = 0; k < products.size(); ++k, weight *= omega) {
    const Scalar &za = proof_.masked_factors[2 * k], &zb = proof_.masked_factors[2 * k + 1];
    const auto mask = static_cast<uint32_t>(first_mask + 2 * k);
    require_zero(products[k].a * e + Expression(-za, mask, Scalar::one()));
    require_zero(products[k].b * e + Expression(-zb, mask + 1, Scalar::one()));
    sum += products[k].c * (weight * e * e);
    sum += -(weight * za * zb);
  }
  require_zero(std::move(sum));
}

OpeningClaim ArgumentVerifier::reduce(Transcript& main, std::span<const Transcript> forks,
                                      std::span<const VerifierPair> pairs, std::span<const VerifierProduct> products) {
  for (const Transcript& fork : forks) main.absorb("fork", fork);
  Receiver channel(main, proof_.main, static_cast<uint32_t>(shape_.sealed_scalars() - shape_.main_scalars()));
  const Reduced reduced = reduce_pairs(channel, pairs);
  // Fresh: whoever chose the values at ξ knew β, and could have let two lies cancel under it.
  const std::vector<Scalar> weight = powers(main.challenge("beta'"), pairs.size());
  check_products(channel, products);
  const Scalar lambda = main.challenge("lambda");
  // Fresh too, after everything: separates rows from pads, so that neither commitment can carry a part of the other.
  const Scalar zeta = main.challenge("zeta");

  // Σ_e λ^e equation_e + Λ (<t*, eq(ξ)> − Σ β'^p value_p) = 0, Λ the power after the last: an affine form in the pads
  // and the rows. Times ζ, against t* + ζ pads. Summed pad by pad: the terms are many, and each is met once.
  OpeningClaim claim;
  claim.pad_weight = zeta;
  claim.vector = eq_table(reduced.xi);
  claim.vector.resize(shape_.generators());
  Scalar constant;
  const auto add = [&](const Expression& expression, const Scalar& factor) {
    constant += expression.constant() * factor;
    for (const auto& [pad, coefficient] : expression.terms()) {
      claim.vector[shape_.row_length + pad] += coefficient * factor;
    }
  };
  Scalar power = Scalar::one();
  for (const Expression& equation : equations_) {
    add(equation, power);
    power *= lambda;
  }
  for (size_t p = 0; p < pairs.size(); ++p) add(reduced.values[p], -(power * weight[p]));
  for (size_t l = 0; l < shape_.row_length; ++l) claim.vector[l] *= zeta * power;
  claim.value = -(zeta * constant);
  for (size_t p = 0; p < pairs.size(); ++p) {
    for (const auto& [row, coefficient] : pairs[p].commitment)
      claim.commitment.emplace_back(row, weight[p] * coefficient);
  }
  return claim;
}

Result<PointSum, Rejection> settle(Transcript& main, const OpeningClaim& claim, const Proof& proof,
                                   std::span<const Point> rows) {
  PointSum sum;
  ZKAPEX_TRY(const Point pads, decode_proof_point(proof.pads, "commitment to the pads"));
  ZKAPEX_TRY(const Scalar c, verify_inner_product(main, proof.opening, claim.vector, claim.value, sum));
  if (main.drew_zero()) return Rejection{Reason::kZeroChallenge, "a challenge is zero"};
  // A row may occur in several pairs: one coefficient each.
  std::vector<Scalar> coefficient(rows.size());
  for (const auto& [row, weight] : claim.commitment) coefficient[row] += weight;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (!coefficient[k].is_zero()) sum.add(rows[k], c * coefficient[k]);
  }
  sum.add(pads, c * claim.pad_weight);
  return sum;
}

Result<std::vector<Point>, Rejection> decode_rows(std::span<const EncodedPoint> rows, ThreadPool& pool) {
  Result<std::vector<Point>> points = decode_batch(rows, &pool);
  if (!points) return Rejection{Reason::kPoint, "row commitments: " + points.error().message};
  for (size_t k = 0; k < points->size(); ++k) {
    if ((*points)[k].is_identity())
      return Rejection{Reason::kPoint, fmt::format("row commitment {} is the identity", k)};
  }
  return *std::move(points);
}

Verdict verdict_var(const PointSum& sum, const Generators& generators, ThreadPool& pool) {
  if (generators.size() < sum.generators()) {
    return Rejection{Reason::kStatement,
                     fmt::format("{} generators are given, this proof needs {}", generators.size(), sum.generators())};
  }
  if (!sum.is_identity_var(generators, pool))
    return Rejection{Reason::kEquation, "what the proof claims does not hold"};
  return Done{};
}

Result<std::vector<size_t>> find_false_var(std::span<const PointSum> sums, const Generators& generators,
                                           ThreadPool& pool) {
  for (const PointSum& sum : sums) {
    if (generators.size() < sum.generators()) {
      return error("{} generators are given, a proof needs {}", generators.size(), sum.generators());
    }
  }
  ZKAPEX_TRY(Nonces weights, Nonces::create({view("batch verification")}));
  std::vector<size_t> out;
  // Ranges that are still to be settled, the next one last. A false one is halved until it is a single sum.
  std::vector<std::pair<size_t, size_t>> ranges = {{0, sums.size()}};
  while (!ranges.empty()) {
    const auto [first, end] = ranges.back();
    ranges.pop_back();
    PointSum all;
    for (size_t k = first; k < end; ++k) all.add_scaled(sums[k], weights.scalar());
    if (all.is_identity_var(generators, pool)) continue;
    if (end - first == 1) {
      out.push_back(first);
      continue;
    }
    const size_t middle = first + (end - first) / 2;
    ranges.emplace_back(middle, end);
    ranges.emplace_back(first, middle);
  }
  return out;
}

}  // namespace zkapex
