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

// At r = (r_b, r_j), for the segment's mask: the extensions of u_i and of eq(tau_b, slot) u_i.
struct FreeAt {
  Scalar u, weighted_u;
};
[[nodiscard]] FreeAt free_at(const WindowPlan& plan, const WindowSegment& segment, std::span<const Scalar> r,
                             std::span<const Scalar> tau_b);

// The weight 2^(q S + j) of slack plane q, where q S + j < NB, at r_j; that of the cap's plane, 2^i for i < NB, at r.
[[nodiscard]] Scalar slack_weight(const WindowPlan& plan, unsigned q, std::span<const Scalar> r_j);
[[nodiscard]] Scalar cap_weight(const WindowPlan& plan, std::span<const Scalar> r);

// Σ eq(tau_b, b) over the slots of committed rows.
[[nodiscard]] Scalar committed_slots(const WindowSegment& segment, std::span<const Scalar> tau_b);

// The challenges of the joint sumcheck.
struct JointChallenges {
  BitChallenges bits;
  std::vector<Scalar> alpha;  // of the masked weights, the residuals, the cap

  void draw(Transcript& transcript, const WindowSegment& segment);
};

// In the last claim of the joint sumcheck, the coefficients of what is sent before the rest over the planes. With
// compensation
//   y, y², x², θ_u, θ_p, each slack plane, the cap plane where there is one
// and without  x², θ_u, θ_p.
[[nodiscard]] std::vector<Scalar> joint_coefficients(const WindowPlan& plan, const WindowSegment& segment,
                                                     const Parameters& parameters, const JointChallenges& challenges,
                                                     std::span<const Scalar> r);

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

// num and den of the cap; without compensation 0 and 1: nothing outside the mask may move.
struct Cap {
  Scalar numerator, denominator;
};
[[nodiscard]] Cap cap_of(const WindowPlan& plan, const Parameters& parameters);

[[nodiscard]] Scalar to_scalar(const Wide& value);  // below 2^512

}  // namespace zkapex
