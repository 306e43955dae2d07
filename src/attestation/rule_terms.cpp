#include "attestation/rule_terms.h"

namespace zkapex {

Scalar weigh(std::span<const RuleSums> sums, const WindowSegment& segment, const RuleWeights& rules) {
  Scalar out;
  for (size_t g = 0; g < sums.size(); ++g) {
    const RuleWeights::Group& weights = rules.of(segment.groups[g]);
    out += weights.removed * to_scalar(sums[g].removed) + weights.moved * to_scalar(sums[g].moved) +
           weights.followed * (to_scalar(sums[g].forward) - to_scalar(sums[g].backward));
  }
  return out;
}

void add_rule_terms(const WindowPlan& plan, const WindowSegment& segment, const RuleWeights& rules, const Scalar& alpha,
                    const RuleTables& tables, ProverTerms& to) {
  const unsigned x = tables.x;
  if (segment.groups.size() == 1) {  // the same weights everywhere
    const RuleWeights::Group& weights = rules.of(segment.groups[0]);
    to.terms.push_back({alpha * weights.moved, {x, x}});
    to.terms.push_back({alpha * (weights.removed - weights.moved), {tables.held, x, x}});
    if (plan.guided()) to.terms.push_back({alpha * weights.followed, {tables.guide, x}});
    return;
  }
  std::vector<Scalar> moved(size_t{1} << segment.row_variables), difference = moved, followed = moved;
  for (const SegmentGroup& rows : segment.groups) {
    const RuleWeights::Group& weights = rules.of(rows);
    const bool last = &rows == &segment.groups.back();
    for (uint64_t t = rows.first_row; t < (last ? moved.size() : rows.first_row + rows.rows); ++t) {
      moved[t] = weights.moved;
      difference[t] = weights.removed - weights.moved;
      followed[t] = weights.followed;
    }
  }
  const unsigned position = plan.position_variables(), first = static_cast<unsigned>(to.tables.size());
  to.tables.push_back({SumcheckTable::Blocks{std::move(moved), position}});
  to.tables.push_back({SumcheckTable::Chosen{std::move(difference), position, tables.held_bytes}, true});
  to.tables.push_back({SumcheckTable::Blocks{std::move(followed), position}});
  to.terms.push_back({alpha, {first, x, x}});
  to.terms.push_back({alpha, {first + 1, x, x}});
  to.terms.push_back({alpha, {first + 2, tables.guide, x}});
}

}  // namespace zkapex
