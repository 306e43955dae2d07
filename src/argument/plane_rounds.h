// After the bit check's sumcheck over positions ended at r, there is left  rest = Σ_k eq(τ, k) (b_k(r)² − b_k(r)).
// Rounds over the planes k bring it to one point κ, where b = Σ_k eq(κ, k) b_k(r) and its square are sent.
#pragma once

#include "argument/prover.h"
#include "argument/verifier.h"

namespace zkapex {

struct ProverPlanes {
  std::vector<Scalar> kappa;
  Scalar b, square;
};
ProverPlanes prove_planes(Sender& channel, std::span<const Scalar> tau, std::vector<Scalar> planes_at_r,
                          const Scalar& rest, ThreadPool& pool);

struct VerifierPlanes {
  std::vector<Scalar> kappa;
  Expression b, square;  // the caller checks the product b b = square
};
VerifierPlanes verify_planes(Receiver& channel, ArgumentVerifier& verifier, std::span<const Scalar> tau,
                             Expression rest);

// What both send on the fork: 3 scalars a round, then two.
[[nodiscard]] inline size_t plane_scalars(unsigned rounds) { return 3 * size_t{rounds} + 2; }

}  // namespace zkapex
