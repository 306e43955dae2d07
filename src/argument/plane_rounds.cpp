#include "argument/plane_rounds.h"

#include "algebra/multilinear.h"
#include "argument/sumcheck.h"

namespace zkapex {

ProverPlanes prove_planes(Sender& channel, std::span<const Scalar> tau, std::vector<Scalar> planes_at_r,
                          const Scalar& rest, ThreadPool& pool) {
  Sumcheck sumcheck{.variables = static_cast<unsigned>(tau.size()),
                    .degree = 3,
                    .tables = {{std::move(planes_at_r)}},
                    .terms = {{Scalar::one(), {0, 0}, true}, {-Scalar::one(), {0}, true}},
                    .eq_point = {tau.begin(), tau.end()},
                    .bits = {}};
  SumcheckProof end = prove_sumcheck(channel, "planes", std::move(sumcheck), rest, pool);
  const Scalar b = end.tables[0], weight = eq(tau, end.point);
  const std::vector<Scalar> sent = channel.send("b, b^2", {b, b * b}, {{-weight, weight}}, end.claim);
  return {std::move(end.point), sent[0], sent[1]};
}

VerifierPlanes verify_planes(Receiver& channel, ArgumentVerifier& verifier, std::span<const Scalar> tau,
                             Expression rest) {
  SumcheckClaim end = verify_sumcheck(channel, "planes", static_cast<unsigned>(tau.size()), 3, std::move(rest));
  const std::vector<Expression> sent = channel.receive("b, b^2", 2);
  verifier.require_zero(end.claim - (sent[1] - sent[0]) * eq(tau, end.point));
  return {std::move(end.point), sent[0], sent[1]};
}

}  // namespace zkapex
