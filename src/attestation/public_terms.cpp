#include "attestation/public_terms.h"

#include <algorithm>

namespace zkapex {

namespace {

// Σ_i real_i f(slot) eq(r_j, j) over each piece of the rows.
std::vector<Scalar> real_pieces(const Geometry& geometry, const Segment& rows, const ProductFunction& f,
                                std::span<const Scalar> r_j) {
  const ProductFunction inside = eq_pairs(r_j);
  const Scalar full = prefix(inside, geometry.block);
  std::vector<Scalar> out;
  for (const SegmentPiece& piece : rows.pieces) {
    if (piece.rest != 0) {
      out.push_back(at(f, piece.first_slot) * prefix(inside, piece.rest));
    } else {
      out.push_back((prefix(f, piece.first_slot + piece.full_blocks) - prefix(f, piece.first_slot)) * full);
    }
  }
  return out;
}

// Which of the segment's groups a slot is in; asked for increasing slots.
class GroupOfSlot {
 public:
  GroupOfSlot(const WindowPlan& plan, const WindowSegment& segment)
      : segment_(segment), slots_per_row_(plan.geometry().blocks_per_row()) {}
  size_t operator()(uint64_t slot) {
    while (slot >= (segment_.groups[at_].first_row + segment_.groups[at_].rows) * slots_per_row_) ++at_;
    return at_;
  }

 private:
  const WindowSegment& segment_;
  uint64_t slots_per_row_;
  size_t at_ = 0;
};

}  // namespace

Scalar real_sum(const Geometry& geometry, const Segment& rows, const ProductFunction& f, std::span<const Scalar> r_j) {
  Scalar sum;
  for (const Scalar& piece : real_pieces(geometry, rows, f, r_j)) sum += piece;
  return sum;
}

Scalar indices_at(std::span<const uint32_t> indices, unsigned side_variables, std::span<const Scalar> r) {
  if (indices.empty()) return {};
  const size_t slots = r.size() - side_variables;
  const std::vector<Scalar> slot = eq_table(r.first(slots)), inside = eq_table(r.subspan(slots));
  const uint32_t stride = uint32_t{1} << side_variables;
  Scalar out;
  for (size_t k = 0; k < indices.size();) {
    const uint32_t b = indices[k] / stride;
    Scalar sum;
    for (; k < indices.size() && indices[k] / stride == b; ++k) sum += inside[indices[k] % stride];
    out += sum * slot[b];
  }
  return out;
}

FreeAt free_at(const WindowPlan& plan, const WindowSegment& segment, std::span<const Scalar> r,
               std::span<const Scalar> tau_b) {
  const auto r_b = r.first(segment.slot_variables), r_j = r.subspan(segment.slot_variables);
  FreeAt out{{},
             real_sum(plan.geometry(), segment.rows, eq2_pairs(r_b, tau_b), r_j),
             std::vector<Scalar>(segment.groups.size())};
  const std::vector<Scalar> pieces = real_pieces(plan.geometry(), segment.rows, eq_pairs(r_b), r_j);
  GroupOfSlot of_piece(plan, segment), of_slot(plan, segment);
  for (size_t k = 0; k < pieces.size(); ++k) out.group_u[of_piece(segment.rows.pieces[k].first_slot)] += pieces[k];
  // Less the mask, slot by slot: Σ_{i in M} f(slot) eq(r_j, j).
  const std::vector<Scalar> slot = eq_table(r_b), tau = eq_table(tau_b), inside = eq_table(r_j);
  const uint32_t stride = uint32_t{1} << plan.side_variables();
  for (size_t k = 0; k < segment.masked.size();) {
    const uint32_t b = segment.masked[k] / stride;
    Scalar sum;
    for (; k < segment.masked.size() && segment.masked[k] / stride == b; ++k) sum += inside[segment.masked[k] % stride];
    const Scalar weighed = sum * slot[b];
    out.group_u[of_slot(b)] -= weighed;
    out.weighted_u -= weighed * tau[b];
  }
  for (const Scalar& u : out.group_u) out.u += u;
  return out;
}

Scalar slack_weight(const WindowPlan& plan, unsigned q, std::span<const Scalar> r_j) {
  const uint64_t stride = plan.geometry().stride(), first = q * stride;
  return Scalar::power_of_two(static_cast<unsigned>(first)) *
         prefix(pow2_pairs(r_j), std::min(stride, plan.slack_bits() - first));
}

Scalar committed_slots(const WindowSegment& segment, std::span<const Scalar> tau_b) {
  return prefix(eq_pairs(tau_b), segment.rows.slots);
}

RuleWeights RuleWeights::draw(const WindowPlan& plan, Transcript& main) {
  RuleWeights out;
  out.groups.resize(plan.groups().size());
  if (!plan.compensates()) {
    for (Group& group : out.groups) group.moved = -Scalar::one();
    return out;
  }
  const Scalar gamma = plan.rule_count() > 1 ? main.challenge("rules") : Scalar::one();
  Scalar power = Scalar::one();
  for (Group& group : out.groups) {
    for (const Rule& rule : plan.rules()) {
      out.powers.push_back(power);
      group.removed += power * Scalar::from_i64(rule.removed);
      group.moved += power * Scalar::from_i64(rule.moved);
      group.followed += power * Scalar::from_i64(rule.followed);
      group.guide += power * Scalar::from_i64(rule.guide);
      power *= gamma;
    }
  }
  return out;
}

void JointChallenges::draw(Transcript& transcript, const WindowSegment& segment) {
  bits = segment.planes > 0 ? BitChallenges::draw(transcript, segment.planes, segment.variables)
                            : BitChallenges{{}, transcript.challenges("tau", segment.variables)};
  alpha = transcript.challenges("alpha", 3);
}

std::vector<Scalar> joint_coefficients(const WindowPlan& plan, const WindowSegment& segment, const RuleWeights& rules,
                                       const JointChallenges& challenges, std::span<const Scalar> r,
                                       const Scalar& guide) {
  const auto tau_b = std::span(challenges.bits.tau).first(segment.slot_variables);
  const auto r_b = r.first(segment.slot_variables), r_j = r.subspan(segment.slot_variables);
  const FreeAt free = free_at(plan, segment, r, tau_b);
  const ProductFunction row = eq_pairs(r.first(segment.row_variables));
  Scalar squares, followed;
  for (size_t g = 0; g < segment.groups.size(); ++g) {
    const SegmentGroup& rows = segment.groups[g];
    const RuleWeights::Group& weights = rules.of(rows);
    // Σ_i eq(r, i) over its rows, the last group's with all that are virtual
    const Scalar to = g + 1 == segment.groups.size() ? Scalar::one() : prefix(row, rows.first_row + rows.rows);
    const Scalar all = to - prefix(row, rows.first_row);
    squares += weights.removed * (all - free.group_u[g]) + weights.moved * free.group_u[g];
    followed += weights.followed * all;
  }
  squares *= challenges.alpha[2];
  const Scalar products = challenges.alpha[2] * followed * guide;
  const Scalar zeros = challenges.alpha[0] * eq(challenges.bits.tau, r) * (Scalar::one() - free.u);
  if (!plan.compensates()) return {squares, zeros, Scalar::zero()};
  std::vector<Scalar> out{Scalar::zero(), challenges.alpha[1] * free.weighted_u, squares, zeros + products, -products};
  const Scalar eb = eq(tau_b, r_b);
  for (unsigned q = 0; q < plan.slack_planes(); ++q) {
    out.push_back(challenges.alpha[1] * eb * slack_weight(plan, q, r_j));
  }
  for (unsigned p = 0; p < segment.rule_planes; ++p) {
    out.push_back(-(challenges.alpha[2] * plan.rule_rows().weight_at(rules.powers, p, r)));
  }
  return out;
}

}  // namespace zkapex
