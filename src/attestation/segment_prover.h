// The prover on one segment of a window: docs/window.md, sections 3 to 5.
#pragma once

#include "attestation/model_reader.h"
#include "attestation/public_terms.h"
#include "attestation/window_relation.h"
#include "base/unset_vector.h"

namespace zkapex {

// The integers of a segment, by index.
struct SegmentWitness {
  std::vector<std::vector<uint8_t>> planes;  // packed bits of the slacks
  UnsetVector<int64_t> theta_u, x;
  std::vector<uint8_t> free;  // u
  Scalar rule_slack;          // Σ_k γ^k (slack of rule k), in the segment that has their planes
};

// The segment's rows and what opens them.
struct SegmentRows {
  std::span<const Scalar> weights;  // blindings of θ_u's rows
  BitRows bits;
  const SlackBits* rules = nullptr;
  std::span<const Scalar> rule_blindings;
};

[[nodiscard]] Status prove_segment(const WindowStatement& statement, const WindowPlan& plan,
                                   const WindowSegment& segment, const RuleWeights& rules, const ModelReader& before,
                                   const ModelOpenings& openings, SegmentWitness witness, const SegmentRows& rows,
                                   Sender& channel, ArgumentProver& prover);

}  // namespace zkapex
