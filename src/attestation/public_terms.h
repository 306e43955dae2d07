// The public tables of the joint sumcheck at a point, evaluated by the verifier without building them.
//
//   real_i = 1 iff i carries a weight;  u_i = real_i, less 1 on the mask;  e(b) any product function of the slot b
#pragma once

#include "algebra/multilinear.h"
#include "argument/bit_check.h"
#include "attestation/window_plan.h"

namespace zkapex {

// Σ_i real_i f(slot) eq(r_j, j), f a product function of the slot.
[[nodiscard]] Scalar real_sum(const Geometry& geometry, const Segment& rows, const ProductFunction& f,
                              std::span<const Scalar> r_j);

// Σ eq(r, i) over some indices, which increase; S has `side_variables`.
[[nodiscard]] Scalar indices_at(std::span<const uint32_t> indices, unsigned side_variables, std::span<const Scalar> r);

// At r = (r_b, r_j), for the segment's mask: the extensions of u_i, of eq(tau_b, slot) u_i, and of u_i in each of the
// segment's groups.
struct FreeAt {
  Scalar u, weighted_u;
  std::vector<Scalar> group_u;
};
[[nodiscard]] FreeAt free_at(const WindowPlan& plan, const WindowSegment& segment, std::span<const Scalar> r,
                             std::span<const Scalar> tau_b);

// All rules of a window as one: Σ_k γ^k (slack of rule k) is a sum over i. Without compensation it is −Σ_C x², which
// has no slack and is zero.
struct RuleWeights {
  struct Group {
    Scalar removed, moved, followed, guide;  // of Σ_M x², Σ_C x², Σ Δ x, Σ Δ²
  };
  std::vector<Group> groups;   // of WindowPlan::groups()
  std::vector<Scalar> powers;  // γ^k

  // Draws γ where there is more than one rule: after all that is committed, before the forks.
  static RuleWeights draw(const WindowPlan& plan, Transcript& main);
  // Rows of a segment in one of its groups.
  [[nodiscard]] const Group& of(const SegmentGroup& rows) const { return groups[rows.group]; }
};

// The weight 2^(q S + j) of slack plane q, where q S + j < NB, at r_j.
[[nodiscard]] Scalar slack_weight(const WindowPlan& plan, unsigned q, std::span<const Scalar> r_j);

// Σ eq(tau_b, b) over the slots of committed rows.
[[nodiscard]] Scalar committed_slots(const WindowSegment& segment, std::span<const Scalar> tau_b);

// The challenges of the joint sumcheck.
struct JointChallenges {
  BitChallenges bits;
  std::vector<Scalar> alpha;  // of the masked weights, the residuals, the rules

  void draw(Transcript& transcript, const WindowSegment& segment);
};

// In the last claim of the joint sumcheck, the coefficients of what is sent before the rest over the planes. With
// compensation
//   y, y², x², θ_u, θ_p, each slack plane, each rule's plane where there are any
// and without  x², θ_u, θ_p.  `guide`: Δ at r.
[[nodiscard]] std::vector<Scalar> joint_coefficients(const WindowPlan& plan, const WindowSegment& segment,
                                                     const RuleWeights& rules, const JointChallenges& challenges,
                                                     std::span<const Scalar> r, const Scalar& guide);

// What was sent there, by name; of scalars or of expressions.
template <class Value>
struct JointValues {
  Value y, y_square;  // with compensation only
  Value x_square, theta_u, theta_p;
  std::vector<Value> slacks;

  JointValues() = default;
  JointValues(const WindowPlan& plan, const std::vector<Value>& sent) {
    size_t at = 0;
    if (plan.compensates()) {
      y = sent[at++];
      y_square = sent[at++];
    }
    x_square = sent[at++];
    theta_u = sent[at++];
    theta_p = sent[at++];
    slacks.assign(sent.begin() + static_cast<ptrdiff_t>(at), sent.end());
  }
  [[nodiscard]] Value x() const { return theta_u - theta_p; }
};

}  // namespace zkapex
