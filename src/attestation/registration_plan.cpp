#include "attestation/registration_plan.h"

#include <numeric>

#include "argument/bit_check.h"
#include "base/bits.h"

namespace zkapex {

uint64_t curvature_rows(const Layout& layout) { return layout.rows() * layout.geometry().stride(); }

void RegistrationPlan::add(RangeUnit unit) {
  unit.row_variables = log2_ceil(unit.rows.rows);
  unit.variables = unit.row_variables + log2_ceil(geometry_.row);
  unit.scalars = bit_check_scalars(unit.planes, unit.variables, unit.model ? 1 : 0);
  unit.first_bit_row = units_.empty() ? 0 : units_.back().first_bit_row + units_.back().bit_rows();
  units_.push_back(std::move(unit));
}

Result<RegistrationPlan> RegistrationPlan::make(const Deployment& deployment, bool certificate,
                                                const RegistrationCut& cut) {
  const Layout& layout = deployment.layout();
  RegistrationPlan plan;
  plan.certificate_ = certificate;
  plan.cut_ = cut;
  plan.geometry_ = layout.geometry();
  plan.side_variables_ = log2_ceil(plan.geometry_.stride());
  if (cut.model.size() + cut.curvature.size() > kMaxForks) {
    return error("{} parts are more than {}", cut.model.size() + cut.curvature.size(), kMaxForks);
  }
  ZKAPEX_TRY(std::vector<Segment> model, make_segments(layout, cut.model));
  for (Segment& rows : model) {
    plan.add({.model = true, .rows = std::move(rows), .planes = deployment.parameters().weights.width});
  }
  const uint64_t total = std::accumulate(cut.curvature.begin(), cut.curvature.end(), uint64_t{0});
  const bool positive = std::find(cut.curvature.begin(), cut.curvature.end(), uint64_t{0}) == cut.curvature.end();
  if (total != (certificate ? curvature_rows(layout) : 0) || !positive) {
    return error("the cut of the curvature does not cover every row once");
  }
  uint64_t first = 0;
  for (const uint64_t rows : cut.curvature) {
    Segment segment;
    segment.first_row = first;
    segment.rows = rows;
    plan.add({.model = false, .rows = std::move(segment), .planes = deployment.parameters().curvature_bits});
    first += rows;
  }
  for (const RangeUnit& unit : plan.units_) {
    if (unit.variables > 31) return error("a part of {} rows of {} is too large", unit.rows.rows, plan.geometry_.row);
  }
  return plan;
}

ProofShape RegistrationPlan::shape() const {
  ProofShape shape{.row_length = geometry_.row,
                   .rows = units_.back().first_bit_row + units_.back().bit_rows(),
                   .forks = {},
                   .pairs = units_.size(),
                   .products = units_.size()};
  for (const RangeUnit& unit : units_) shape.forks.push_back(unit.scalars);
  return shape;
}

}  // namespace zkapex
