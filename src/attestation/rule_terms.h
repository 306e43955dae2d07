// The rules in a segment's joint sumcheck, as the prover has them (docs/window.md, section 3):
//   Σ_i [(removed m_i + moved u_i) x_i² + followed Δ_i x_i], with the weights of the group that i is in.
#pragma once

#include "attestation/public_terms.h"
#include "attestation/segment_guide.h"

namespace zkapex {

// Of x = θ_u − θ_p by index: free are those outside the mask; Δ may be empty and stands for zeros.
[[nodiscard]] RuleSums sum_moves(std::span<const int64_t> x, std::span<const uint8_t> free,
                                 std::span<const int64_t> guide);
// The same for each of the segment's groups.
[[nodiscard]] std::vector<RuleSums> sum_moves(const WindowSegment& segment, std::span<const int64_t> x,
                                              std::span<const uint8_t> free, const GuideTable& guide, ThreadPool& pool);

// The sum in the sumcheck, from those of the segment's groups.
[[nodiscard]] Scalar weigh(std::span<const RuleSums> sums, const WindowSegment& segment, const RuleWeights& rules);

// Tables of the sumcheck, by number: x, 1 − u on committed indices (and its bytes) and on virtual padding, where it is
// 1 everywhere, and with a guide Δ.
struct RuleTables {
  unsigned x, held, padding, guide;
  std::span<const uint8_t> held_bytes;
};
// The table that has these values by block on virtual padding, and zeros where a segment is committed.
[[nodiscard]] SumcheckTable on_padding(const WindowSegment& segment, std::vector<Scalar> values, unsigned block_bits);
// Adds the sum's terms, each times alpha, and tables of weights where groups differ.
void add_rule_terms(const WindowPlan& plan, const WindowSegment& segment, const RuleWeights& rules, const Scalar& alpha,
                    const RuleTables& tables, ProverTerms& to);

}  // namespace zkapex
