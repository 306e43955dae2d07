// "These committed planes hold bits": Σ_i eq(τ, i) Σ_k eq(τ_k, k) (b_k(i)² − b_k(i)) = 0 brought to one point r, then
// over the planes to κ, where one value b = Σ_k eq(κ, k) b_k(r) is left to be opened.
#pragma once

#include "argument/plane_rounds.h"

namespace zkapex {

struct ProverBits {
  std::vector<Scalar> r;
  ProverPlanes planes;
};
// `planes` packed as a sumcheck reads them, over 2^variables entries.
ProverBits prove_bits(Sender& channel, std::vector<std::vector<uint8_t>> planes, unsigned variables, ThreadPool& pool);

struct VerifierBits {
  std::vector<Scalar> r;
  VerifierPlanes planes;  // the caller checks the product b b = square and opens b
};
VerifierBits verify_bits(Receiver& channel, ArgumentVerifier& verifier, unsigned planes, unsigned variables);

// What both send on the fork.
[[nodiscard]] size_t bit_check_scalars(unsigned planes, unsigned variables);

// Coefficients of the bit rows of `rows` value rows in Σ_k eq(κ, k) Σ_t eq(row variables of r, t) R[k, t], plane by
// plane.
[[nodiscard]] std::vector<Scalar> bit_row_weights(unsigned planes, size_t rows, std::span<const Scalar> kappa,
                                                  std::span<const Scalar> row_point);

}  // namespace zkapex
