#include "attestation/public_terms.h"

#include <algorithm>

namespace zkapex {

Scalar to_scalar(const Wide& value) {
  std::array<uint8_t, 64> bytes;
  for (size_t k = 0; k < 64; ++k) bytes[k] = static_cast<uint8_t>(value.limbs()[k / 8] >> (8 * (k % 8)));
  return Scalar::from_bytes_wide(bytes);
}

Scalar real_sum(const Geometry& geometry, const Segment& rows, const ProductFunction& f, std::span<const Scalar> r_j) {
  const ProductFunction inside = eq_pairs(r_j);
  const Scalar full = prefix(inside, geometry.block);
  Scalar sum;
  for (const SegmentPiece& piece : rows.pieces) {
    if (piece.rest != 0) {
      sum += at(f, piece.first_slot) * prefix(inside, piece.rest);
    } else {
      sum += (prefix(f, piece.first_slot + piece.full_blocks) - prefix(f, piece.first_slot)) * full;
    }
  }
  return sum;
}

FreeAt free_at(const WindowPlan& plan, const WindowSegment& segment, std::span<const Scalar> r,
               std::span<const Scalar> tau_b) {
  const auto r_b = r.first(segment.slot_variables), r_j = r.subspan(segment.slot_variables);
  FreeAt out{real_sum(plan.geometry(), segment.rows, eq_pairs(r_b), r_j),
             real_sum(plan.geometry(), segment.rows, eq2_pairs(r_b, tau_b), r_j)};
  // Less the mask, slot by slot: Σ_{i in M} f(slot) eq(r_j, j).
  const std::vector<Scalar> slot = eq_table(r_b), tau = eq_table(tau_b), inside = eq_table(r_j);
  const uint32_t stride = uint32_t{1} << plan.side_variables();
  for (size_t k = 0; k < segment.masked.size();) {
    const uint32_t b = segment.masked[k] / stride;
    Scalar sum;
    for (; k < segment.masked.size() && segment.masked[k] / stride == b; ++k) sum += inside[segment.masked[k] % stride];
    const Scalar weighed = sum * slot[b];
    out.u -= weighed;
    out.weighted_u -= weighed * tau[b];
  }
  return out;
}

Scalar slack_weight(const WindowPlan& plan, unsigned q, std::span<const Scalar> r_j) {
  const uint64_t stride = plan.geometry().stride(), first = q * stride;
  return Scalar::power_of_two(static_cast<unsigned>(first)) *
         prefix(pow2_pairs(r_j), std::min(stride, plan.slack_bits() - first));
}

Scalar cap_weight(const WindowPlan& plan, std::span<const Scalar> r) {
  return prefix(pow2_pairs(r), plan.slack_bits());
}

Scalar committed_slots(const WindowSegment& segment, std::span<const Scalar> tau_b) {
  return prefix(eq_pairs(tau_b), segment.rows.slots);
}

Cap cap_of(const WindowPlan& plan, const Parameters& parameters) {
  if (!plan.compensates()) return {Scalar::zero(), Scalar::one()};
  return {Scalar::from_u64(parameters.cap_numerator), Scalar::from_u64(parameters.cap_denominator)};
}

void JointChallenges::draw(Transcript& transcript, const WindowSegment& segment) {
  bits = segment.planes > 0 ? BitChallenges::draw(transcript, segment.planes, segment.variables)
                            : BitChallenges{{}, transcript.challenges("tau", segment.variables)};
  alpha = transcript.challenges("alpha", 3);
}

std::vector<Scalar> joint_coefficients(const WindowPlan& plan, const WindowSegment& segment,
                                       const Parameters& parameters, const JointChallenges& challenges,
                                       std::span<const Scalar> r) {
  const auto tau_b = std::span(challenges.bits.tau).first(segment.slot_variables);
  const auto r_b = r.first(segment.slot_variables), r_j = r.subspan(segment.slot_variables);
  const FreeAt free = free_at(plan, segment, r, tau_b);
  const Scalar e = eq(challenges.bits.tau, r), eb = eq(tau_b, r_b), masked = Scalar::one() - free.u;
  const Cap cap = cap_of(plan, parameters);
  const Scalar squares = challenges.alpha[2] * (cap.numerator * masked - cap.denominator * free.u);
  const Scalar zeros = challenges.alpha[0] * e * masked;
  if (!plan.compensates()) return {squares, zeros, Scalar::zero()};
  std::vector<Scalar> out{Scalar::zero(), challenges.alpha[1] * free.weighted_u, squares, zeros, Scalar::zero()};
  for (unsigned q = 0; q < plan.slack_planes(); ++q) {
    out.push_back(challenges.alpha[1] * eb * slack_weight(plan, q, r_j));
  }
  if (segment.cap) out.push_back(-(challenges.alpha[2] * cap_weight(plan, r)));
  return out;
}

}  // namespace zkapex
