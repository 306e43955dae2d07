#include "argument/bit_check.h"

#include <bit>

#include "algebra/multilinear.h"
#include "argument/sumcheck.h"

namespace zkapex {

namespace {

unsigned plane_variables(size_t planes) { return static_cast<unsigned>(std::bit_width(planes - 1)); }

}  // namespace

ProverBits prove_bits(Sender& channel, std::vector<std::vector<uint8_t>> planes, unsigned variables, ThreadPool& pool) {
  const size_t count = planes.size();
  const std::vector<Scalar> tau_k = channel.transcript().challenges("tau_k", plane_variables(count));
  const std::vector<Scalar> tau = channel.transcript().challenges("tau", variables);
  std::vector<Scalar> weights = eq_table(tau_k);
  weights.resize(count);
  Sumcheck sumcheck{.variables = variables,
                    .degree = 3,
                    .tables = {},
                    .terms = {},
                    .eq_point = tau,
                    .bits = BitPlanes{std::move(planes), weights}};
  SumcheckProof end = prove_sumcheck(channel, "bits", std::move(sumcheck), Scalar::zero(), pool);
  Scalar rest;
  for (size_t k = 0; k < count; ++k) rest += weights[k] * (end.planes[k] * end.planes[k] - end.planes[k]);
  rest = channel.send("rest", {rest}, {{eq(tau, end.point)}}, end.claim)[0];
  ProverPlanes rounds = prove_planes(channel, tau_k, std::move(end.planes), rest, pool);
  return {std::move(end.point), std::move(rounds)};
}

VerifierBits verify_bits(Receiver& channel, ArgumentVerifier& verifier, unsigned planes, unsigned variables) {
  const std::vector<Scalar> tau_k = channel.transcript().challenges("tau_k", plane_variables(planes));
  const std::vector<Scalar> tau = channel.transcript().challenges("tau", variables);
  SumcheckClaim end = verify_sumcheck(channel, "bits", variables, 3, Expression());
  const Expression rest = channel.receive("rest", 1)[0];
  verifier.require_zero(end.claim - rest * eq(tau, end.point));
  VerifierPlanes rounds = verify_planes(channel, verifier, tau_k, rest);
  return {std::move(end.point), std::move(rounds)};
}

size_t bit_check_scalars(unsigned planes, unsigned variables) {
  return 3 * size_t{variables} + 1 + plane_scalars(plane_variables(planes));
}

std::vector<Scalar> bit_row_weights(unsigned planes, size_t rows, std::span<const Scalar> kappa,
                                    std::span<const Scalar> row_point) {
  const std::vector<Scalar> plane = eq_table(kappa), row = eq_table(row_point);
  std::vector<Scalar> out;
  out.reserve(planes * rows);
  for (unsigned k = 0; k < planes; ++k) {
    for (size_t t = 0; t < rows; ++t) out.push_back(plane[k] * row[t]);
  }
  return out;
}

}  // namespace zkapex
