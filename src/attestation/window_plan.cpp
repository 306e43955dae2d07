#include "attestation/window_plan.h"

#include <algorithm>

#include "argument/bit_check.h"
#include "base/bits.h"

namespace zkapex {

namespace {

constexpr unsigned kMaxVariables = 31;  // of a segment

}  // namespace

Result<WindowPlan> WindowPlan::uncut(const Deployment& deployment, const Mask& mask) {
  const Layout& layout = deployment.layout();
  WindowPlan plan;
  plan.op_ = mask.op;
  plan.geometry_ = layout.geometry();
  const uint64_t stride = plan.geometry_.stride();
  plan.groups_ = row_groups(layout, mask);
  plan.rules_ = rules_of(deployment.parameters(), mask);
  plan.pull_ = mask.guidance ? mask.guidance->pull : 0;
  plan.floor_ = deployment.parameters().floor + plan.pull_;
  ZKAPEX_TRY(plan.bounds_, window_bounds(deployment, mask));
  if (plan.compensates()) {
    plan.slack_planes_ = static_cast<unsigned>(zkapex::slack_planes(plan.geometry_, plan.slack_bits()));
    plan.rule_planes_ = static_cast<unsigned>(plan.rule_rows().rows());
  }
  plan.side_variables_ = log2_ceil(stride);
  plan.position_variables_ = log2_ceil(plan.geometry_.row);
  const Parameters& p = deployment.parameters();
  plan.narrow_z_ = plan.side_variables_ + (p.curvature_bits - 1) + p.weights.width < 64;
  ProjectionShape& shape = plan.projection_.shape;
  shape = {plan.geometry_.row, layout.rows(), p.weight_chunk, p.projections, p.weight_bits(), {}};
  shape.units = standard_units(shape);
  if (shape.units.empty() || shape.forks() >= kMaxForks)
    return error("the parts of a window are more than {}", kMaxForks);
  plan.projection_.rows = {0, plan.weight_rows() + plan.bit_rows()};
  return plan;
}

void WindowPlan::count_scalars(WindowSegment& s) const {
  s.slot_variables = s.variables - side_variables_;
  s.rule_planes = s.rows.index == 0 ? rule_planes_ : 0;
  s.planes = slack_planes_ + s.rule_planes;
  const size_t v = s.variables;
  s.evaluations = compensates() ? 5 + s.planes : 3;
  s.scalars = compensates() ? 1 + bit_check_scalars(s.planes, s.variables, s.evaluations) + (2 * v + 3) + (3 * v + 3)
                            : 1 + 3 * v + s.evaluations;
}

Result<WindowPlan> WindowPlan::make(const Deployment& deployment, const Mask& mask, const Segmentation& segmentation) {
  const Layout& layout = deployment.layout();
  ZKAPEX_TRY(WindowPlan plan, uncut(deployment, mask));
  plan.segmentation_ = segmentation;
  if (segmentation.size() > kMaxForks - plan.projection_.shape.forks())
    return error("the parts of a window are more than {}", kMaxForks);
  ZKAPEX_TRY(std::vector<Segment> segments, make_segments(layout, segmentation));
  size_t next = 0, group = 0;  // in the mask, in the groups
  for (Segment& rows : segments) {
    WindowSegment s;
    s.rows = std::move(rows);
    s.row_variables = log2_ceil(s.rows.rows);
    s.variables = s.row_variables + plan.position_variables_;
    if (s.variables > kMaxVariables)
      return error("a segment of {} rows of {} is too large", s.rows.rows, plan.geometry_.row);
    plan.count_scalars(s);
    const uint64_t first = s.rows.first_row * plan.geometry_.row, end = first + s.size();
    for (; next < mask.support.size(); ++next) {
      const uint64_t index = layout.padded_index(mask.support[next]);
      if (index >= end) break;
      s.masked.push_back(static_cast<uint32_t>(index - first));
    }
    const uint64_t end_row = s.rows.first_row + s.rows.rows;
    while (plan.groups_[group].first_row + plan.groups_[group].rows <= s.rows.first_row) ++group;
    for (size_t g = group; g < plan.groups_.size() && plan.groups_[g].first_row < end_row; ++g) {
      const uint64_t low = std::max(plan.groups_[g].first_row, s.rows.first_row);
      const uint64_t high = std::min(plan.groups_[g].first_row + plan.groups_[g].rows, end_row);
      s.groups.push_back({g, low - s.rows.first_row, high - low});
    }
    plan.segments_.push_back(std::move(s));
  }
  return plan;
}

// With a segment for every row, as far as there may be so many.
Result<WindowPlan::Most> WindowPlan::most(const Deployment& deployment, const Mask& mask) {
  ZKAPEX_TRY(WindowPlan plan, uncut(deployment, mask));
  const size_t rows = deployment.layout().rows(), parts = std::min(rows, kMaxForks - plan.projection_.shape.forks());
  WindowSegment part;
  part.variables = parts == rows ? plan.position_variables_ : kMaxVariables;
  plan.count_scalars(part);
  plan.segments_.assign(parts, part);
  return Most{plan.shape().bytes(), parts};
}

size_t WindowPlan::bit_rows() const { return slack_planes_ * weight_rows() + rule_planes_; }

ProofShape WindowPlan::shape() const {
  const ProjectionShape& projected = projection_.shape;
  ProofShape shape{.row_length = geometry_.row,
                   .rows = weight_rows() + bit_rows() + projected.later_rows(),
                   .forks = {},
                   .pairs = pairs_per_segment() * segments_.size() + projected.pairs(),
                   .products = products_per_segment() * segments_.size() + projected.products(),
                   .later_rows = projected.later_rows()};
  for (const WindowSegment& s : segments_) shape.forks.push_back(s.scalars);
  const std::vector<size_t> scalars = projected.fork_scalars();
  shape.forks.insert(shape.forks.end(), scalars.begin(), scalars.end());
  return shape;
}

}  // namespace zkapex
