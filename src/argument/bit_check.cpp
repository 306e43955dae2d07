#include "argument/bit_check.h"

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "base/bits.h"

namespace zkapex {

namespace {

std::vector<Scalar> outer_product(std::span<const Scalar> plane, std::span<const Scalar> row) {
  std::vector<Scalar> out;
  out.reserve(plane.size() * row.size());
  for (const Scalar& p : plane) {
    for (const Scalar& r : row) out.push_back(p * r);
  }
  return out;
}

}  // namespace

BitChallenges BitChallenges::draw(Transcript& transcript, size_t planes, unsigned variables) {
  BitChallenges out;
  out.tau_k = transcript.challenges("tau_k", log2_ceil(planes));
  out.tau = transcript.challenges("tau", variables);
  return out;
}

ProverBits prove_bits(Sender& channel, ArgumentProver& prover, const BitChallenges& challenges,
                      std::vector<std::vector<uint8_t>> planes, ProverTerms others) {
  const std::vector<Scalar> weights = eq_prefix(challenges.tau_k, planes.size());
  Sumcheck sumcheck{.variables = static_cast<unsigned>(challenges.tau.size()),
                    .degree = 3,
                    .tables = std::move(others.tables),
                    .terms = std::move(others.terms),
                    .eq_point = challenges.tau,
                    .bits = BitPlanes{std::move(planes), weights}};
  SumcheckProof end = prove_sumcheck(channel, others.labels.sumcheck, std::move(sumcheck), others.claim, prover.pool());
  Scalar rest;
  for (size_t k = 0; k < weights.size(); ++k) rest += weights[k] * (end.planes[k] * end.planes[k] - end.planes[k]);
  auto [values, coefficients] = others.end(end);
  values.push_back(rest);
  coefficients.push_back(eq(challenges.tau, end.point));
  values = channel.send(others.labels.message, std::move(values), coefficients, end.claim);
  rest = values.back();
  values.pop_back();
  ProverPlanes rounds = prove_planes(channel, challenges.tau_k, std::move(end.planes), rest, prover.pool());
  prover.add_product({rounds.b, rounds.b, rounds.square});
  return {std::move(end.point), std::move(rounds.kappa), std::move(values), rounds.b};
}

VerifierBits verify_bits(Receiver& channel, ArgumentVerifier& verifier, const BitChallenges& challenges,
                         VerifierTerms others) {
  const auto variables = static_cast<unsigned>(challenges.tau.size());
  SumcheckClaim end = verify_sumcheck(channel, others.labels.sumcheck, variables, 3, std::move(others.claim));
  std::vector<Expression> values = channel.receive(others.labels.message, others.values + 1);
  const Expression rest = std::move(values.back());
  values.pop_back();
  end.claim += rest * -eq(challenges.tau, end.point);
  const std::vector<Scalar> coefficients = others.coefficients(end.point);
  for (size_t k = 0; k < values.size(); ++k) end.claim += values[k] * -coefficients[k];
  verifier.require_zero(std::move(end.claim));
  VerifierPlanes rounds = verify_planes(channel, verifier, challenges.tau_k, rest);
  verifier.add_product({rounds.b, rounds.b, rounds.square});
  return {std::move(end.point), std::move(rounds.kappa), std::move(values), std::move(rounds.b)};
}

size_t bit_check_scalars(size_t planes, unsigned variables, size_t other_values) {
  return 3 * size_t{variables} + other_values + 1 + plane_scalars(log2_ceil(planes));
}

ProverPair fold_bit_rows(const BitRows& rows, std::span<const Scalar> plane, std::span<const Scalar> row,
                         ThreadPool& pool) {
  const std::vector<Scalar> weights = outer_product(plane, row);
  ProverPair out;
  out.vector = fold_bits(rows.bits.first(weights.size() * rows.words_per_row), rows.words_per_row, rows.row_length,
                         weights, pool);
  out.blinding = inner_product(weights, rows.blindings.first(weights.size()));
  return out;
}

void add_bit_rows(RowCombination& out, size_t first, std::span<const Scalar> plane, std::span<const Scalar> row) {
  for (const Scalar& weight : outer_product(plane, row)) out.emplace_back(first++, weight);
}

}  // namespace zkapex
