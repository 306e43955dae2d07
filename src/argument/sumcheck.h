// Sumcheck, sealed: reduces  claim = Σ_{i in {0,1}^variables} summand(i)  to one claim about the summand at a random
// point. The summand is a sum of products of multilinear tables. Variable 0 is the least significant bit of i and is
// bound first; points are written most significant variable first.
//
// A round of degree d sends the coefficients c_0, c_2, .., c_d of the round polynomial p; c_1 follows from
// p(0) + p(1) = claim.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "algebra/scalar.h"
#include "argument/channel.h"
#include "argument/sumcheck_table.h"
#include "base/threads.h"

namespace zkapex {

// coefficient · Π tables[factor] (· eq), at most three factors, at most two beside eq. A table of Blocks, which is
// cheap while its blocks last, and a sparse one, whose zeros are skipped, come first.
struct SumcheckTerm {
  Scalar coefficient;
  std::vector<unsigned> factors;
  bool eq = false;
};

// eq · Σ_k weights[k] (b_k² − b_k): zero everywhere exactly if every b_k is a bit, which the prover's are by
// construction. A plane is packed, entry i in bit i % 8 of byte i / 8; what it does not have is zero.
struct BitPlanes {
  std::vector<std::vector<uint8_t>> planes;
  std::vector<Scalar> weights;  // one a plane
};

struct Sumcheck {
  unsigned variables = 0;
  unsigned degree = 0;
  std::vector<SumcheckTable> tables;
  std::vector<SumcheckTerm> terms;
  // eq(eq_point, high variables of i): a factor over the most significant eq_point.size() variables.
  std::vector<Scalar> eq_point;
  std::optional<BitPlanes> bits;
};

struct SumcheckProof {
  std::vector<Scalar> point;
  Scalar claim;                // what the rounds left to show
  std::vector<Scalar> tables;  // the tables at the point
  std::vector<Scalar> planes;  // the bit planes at the point
};

SumcheckProof prove_sumcheck(Sender& channel, std::string_view label, Sumcheck sumcheck, const Scalar& claim,
                             ThreadPool& pool, const SumcheckKernels& kernels = sumcheck_kernels());

struct SumcheckClaim {
  std::vector<Scalar> point;
  Expression claim;
};

SumcheckClaim verify_sumcheck(Receiver& channel, std::string_view label, unsigned variables, unsigned degree,
                              Expression claim);

// The claim after a round: p(x) for the polynomial p of which c_0, c_2, .., c_d were sent and p(0) + p(1) = claim, that
// is
//   c_0 (1 − 2x) + claim · x + Σ_{e ≥ 2} c_e (x^e − x).
// Value is affine over Field: scalars, expressions in pads, or the elements of a tiny field in a test.
template <class Value, class Field>
Value bind_round(const Value& claim, std::span<const Value> sent, const Field& one, const Field& x) {
  Value next = claim * x + sent[0] * (one - x - x);
  Field power = x;
  for (size_t e = 1; e < sent.size(); ++e) {
    power = power * x;
    next = next + sent[e] * (power - x);
  }
  return next;
}

}  // namespace zkapex
