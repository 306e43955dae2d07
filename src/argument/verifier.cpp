#include "argument/verifier.h"

#include <utility>

#include "algebra/multilinear.h"
#include "argument/nonces.h"
#include "argument/sumcheck.h"

namespace zkapex {

std::vector<Scalar> powers(const Scalar& x, size_t count) {
  std::vector<Scalar> out(count, Scalar::one());
  for (size_t k = 1; k < count; ++k) out[k] = out[k - 1] * x;
  return out;
}

ArgumentVerifier::ArgumentVerifier(const ProofShape& shape, const Proof& proof, Transcript& main, ThreadPool& pool)
    : shape_(shape), proof_(proof), main_(main), pool_(pool), next_row_(shape.first_rows()) {}

size_t ArgumentVerifier::absorb_rows(std::string_view label, size_t count) {
  main_.absorb(label, std::span(proof_.rows).subspan(next_row_, count));
  return std::exchange(next_row_, next_row_ + count);
}

ArgumentVerifier::Reduced ArgumentVerifier::reduce_pairs(Receiver& channel) {
  const std::vector<Scalar> weight = powers(main_.challenge("beta"), pairs_.size());
  Expression claim;
  for (size_t p = 0; p < pairs_.size(); ++p) claim += pairs_[p].value * weight[p];
  SumcheckClaim end = verify_sumcheck(channel, "position", shape_.position_rounds(), 2, std::move(claim));
  std::vector<Expression> values = channel.receive("t(xi)", pairs_.size());
  for (size_t p = 0; p < pairs_.size(); ++p) {
    end.claim += values[p] * -(weight[p] * eq(pairs_[p].point, end.point));
  }
  require_zero(std::move(end.claim));
  return {std::move(end.point), std::move(values)};
}

void ArgumentVerifier::check_products(Receiver& channel) {
  const Scalar omega = main_.challenge("omega");
  const std::vector<Expression> t = channel.receive("T0, T1", 2);
  const Scalar e = main_.challenge("e");
  main_.absorb("masked factors", proof_.masked_factors);
  // Σ ω^t (z_a z_b − e² c) = T0 + e T1, with z_a = a' + e a and z_b = b' + e b for masks a', b' among the pads.
  const auto first_mask = static_cast<uint32_t>(shape_.sealed_scalars());
  Expression sum = t[0] + t[1] * e;
  Scalar weight = Scalar::one();
  for (size_t k = 0; k < products_.size(); ++k, weight *= omega) {
    const Scalar &za = proof_.masked_factors[2 * k], &zb = proof_.masked_factors[2 * k + 1];
    const auto mask = static_cast<uint32_t>(first_mask + 2 * k);
    require_zero(products_[k].a * e + Expression(-za, mask, Scalar::one()));
    require_zero(products_[k].b * e + Expression(-zb, mask + 1, Scalar::one()));
    sum += products_[k].c * (weight * e * e);
    sum += -(weight * za * zb);
  }
  require_zero(std::move(sum));
}

OpeningClaim ArgumentVerifier::reduce() {
  // Rows that nothing has absorbed could be chosen last: of a relation that leaves some out, no proof holds.
  if (next_row_ != shape_.rows) require_zero(Expression(Scalar::one()));
  Receiver channel(main_, proof_.main, static_cast<uint32_t>(shape_.sealed_scalars() - shape_.main_scalars()));
  const Reduced reduced = reduce_pairs(channel);
  // Fresh: whoever chose the values at ξ knew β, and could have let two lies cancel under it.
  const std::vector<Scalar> weight = powers(main_.challenge("beta'"), pairs_.size());
  check_products(channel);
  const Scalar lambda = main_.challenge("lambda");
  // Fresh too, after everything: separates rows from pads, so that neither commitment can carry a part of the other.
  const Scalar zeta = main_.challenge("zeta");

  // Σ_e λ^e equation_e + Λ (<t*, eq(ξ)> − Σ β'^p value_p) = 0, Λ the power after the last: an affine form in the pads
  // and the rows. Times ζ, against t* + ζ pads. Summed pad by pad: the terms are many, and each is met once.
  OpeningClaim claim;
  claim.pad_weight = zeta;
  claim.vector.point = reduced.xi;
  claim.vector.others.resize(shape_.pads());
  Scalar constant;
  const auto add = [&](const Expression& expression, const Scalar& factor) {
    constant += expression.constant() * factor;
    for (const auto& [pad, coefficient] : expression.terms()) {
      claim.vector.others[pad] += coefficient * factor;
    }
  };
  Scalar power = Scalar::one();
  for (const Expression& equation : equations_) {
    add(equation, power);
    power *= lambda;
  }
  for (size_t p = 0; p < pairs_.size(); ++p) add(reduced.values[p], -(power * weight[p]));
  claim.vector.factor = zeta * power;
  claim.value = -(zeta * constant);
  for (size_t p = 0; p < pairs_.size(); ++p) {
    for (const auto& [row, coefficient] : pairs_[p].commitment)
      claim.commitment.emplace_back(row, weight[p] * coefficient);
  }
  return claim;
}

Result<PointSum, Rejection> point_sum(Transcript& main, const OpeningClaim& claim, const Proof& proof,
                                      std::span<const AffinePoint> rows) {
  PointSum sum;
  sum.reserve(rows.size() + 2 * proof.opening.left.size() + 2);
  ZKAPEX_TRY(const std::vector<AffinePoint> pads, decode_points({&proof.pads, 1}, "commitment to the pads"));
  ZKAPEX_TRY(const Scalar c, verify_inner_product(main, proof.opening, claim.vector, claim.value, sum));
  if (main.drew_zero()) return Rejection{Reason::kZeroChallenge, "a challenge is zero"};
  // A row may occur in several pairs: one coefficient each.
  std::vector<Scalar> coefficient(rows.size());
  for (const auto& [row, weight] : claim.commitment) coefficient[row] += weight;
  for (size_t k = 0; k < rows.size(); ++k) {
    if (!coefficient[k].is_zero()) sum.add(rows[k], c * coefficient[k]);
  }
  sum.add(pads[0], c * claim.pad_weight);
  return sum;
}

Verdict verdict_var(const PointSum& sum, const Generators& generators, ThreadPool& pool) {
  if (generators.size() < sum.generators()) {
    return Rejection{Reason::kStatement,
                     fmt::format("{} generators are given, this proof needs {}", generators.size(), sum.generators())};
  }
  if (!PointSum::cancel_var({&sum, 1}, std::array{Scalar::one()}, generators, pool))
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
    std::vector<Scalar> weight;
    while (weight.size() < end - first) weight.push_back(weights.scalar());
    if (PointSum::cancel_var(sums.subspan(first, end - first), weight, generators, pool)) continue;
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
