// "These committed planes hold bits", alone or with other sums over the same index i under one sumcheck:
//
//   claim = Σ_i [ eq(τ, i) Σ_k eq(τ_k, k) (b_k(i)² − b_k(i)) + other terms ],   claim being what the others add up to,
//
// is brought to one point r, where the values of the others and rest = Σ_k eq(τ_k, k) (b_k(r)² − b_k(r)) are sent; then
// rest is brought over the planes to κ, where b = Σ_k eq(κ, k) b_k(r) is left to be opened. The product b · b is added.
#pragma once

#include <functional>

#include "argument/plane_rounds.h"
#include "argument/sumcheck.h"

namespace zkapex {

struct BitChallenges {
  std::vector<Scalar> tau_k, tau;
  static BitChallenges draw(Transcript& transcript, size_t planes, unsigned variables);
};

struct BitLabels {
  std::string_view sumcheck = "bits", message = "rest";
};

// The other terms, the prover's side. `eq` in a term is eq(τ, ·).
struct ProverTerms {
  struct End {
    std::vector<Scalar> values, coefficients;  // what is sent before `rest`, and how it enters the last claim
  };
  BitLabels labels;
  std::vector<SumcheckTable> tables;
  std::vector<SumcheckTerm> terms;
  Scalar claim;
  std::function<End(const SumcheckProof&)> end = [](const SumcheckProof&) { return End{}; };
};
struct ProverBits {
  std::vector<Scalar> r, kappa;
  std::vector<Scalar> values;  // of the other terms, as sent
  Scalar b;
};
// `planes` packed as a sumcheck reads them, over 2^|τ| entries.
ProverBits prove_bits(Sender& channel, ArgumentProver& prover, const BitChallenges& challenges,
                      std::vector<std::vector<uint8_t>> planes, ProverTerms others = {});

// The verifier's side: it knows how many values are sent before `rest`, and their coefficients at r.
struct VerifierTerms {
  BitLabels labels;
  Expression claim;
  size_t values = 0;
  std::function<std::vector<Scalar>(std::span<const Scalar> r)> coefficients = [](std::span<const Scalar>) {
    return std::vector<Scalar>{};
  };
};
struct VerifierBits {
  std::vector<Scalar> r, kappa;
  std::vector<Expression> values;
  Expression b;
};
VerifierBits verify_bits(Receiver& channel, ArgumentVerifier& verifier, const BitChallenges& challenges,
                         VerifierTerms others = {});

// What both send on the fork.
[[nodiscard]] size_t bit_check_scalars(size_t planes, unsigned variables, size_t other_values = 0);

// Bit rows R[k, t], plane after plane, and what opens them.
struct BitRows {
  std::span<const uint64_t> bits;
  size_t words_per_row = 0, row_length = 0;
  std::span<const Scalar> blindings;
};
// The vector and the blinding of Σ_k plane[k] Σ_t row[t] R[k, t], of as many planes and rows as there are weights; and
// its commitment for the verifier, R[0, 0] being number `first`.
[[nodiscard]] ProverPair fold_bit_rows(const BitRows& rows, std::span<const Scalar> plane, std::span<const Scalar> row,
                                       ThreadPool& pool);
void add_bit_rows(RowCombination& out, size_t first, std::span<const Scalar> plane, std::span<const Scalar> row);

}  // namespace zkapex
