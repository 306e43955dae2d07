#include "attestation/window_plan.h"

#include "argument/bit_check.h"
#include "base/bits.h"

namespace zkapex {

Result<WindowPlan> WindowPlan::make(const Deployment& deployment, const Mask& mask, Operator op,
                                    const Segmentation& segmentation) {
  const Layout& layout = deployment.layout();
  WindowPlan plan;
  plan.op_ = op;
  plan.geometry_ = layout.geometry();
  plan.segmentation_ = segmentation;
  plan.width_ = deployment.parameters().weights.width;
  const uint64_t stride = plan.geometry_.stride();
  if (plan.compensates()) {
    plan.slack_bits_ = deployment.slack_bits();
    plan.slack_planes_ = static_cast<unsigned>((plan.slack_bits_ + stride - 1) / stride);
  }
  plan.side_variables_ = log2_ceil(stride);
  plan.position_variables_ = log2_ceil(plan.geometry_.row);
  if (segmentation.size() > kMaxForks) return error("{} segments are more than {}", segmentation.size(), kMaxForks);
  ZKAPEX_TRY(std::vector<Segment> segments, make_segments(layout, segmentation));
  size_t next = 0;  // in the mask
  for (Segment& rows : segments) {
    WindowSegment s;
    s.rows = std::move(rows);
    s.row_variables = log2_ceil(s.rows.rows);
    s.variables = s.row_variables + plan.position_variables_;
    if (s.variables > 31) return error("a segment of {} rows of {} is too large", s.rows.rows, plan.geometry_.row);
    s.slot_variables = s.variables - plan.side_variables_;
    s.cap = plan.compensates() && s.rows.index == 0;
    s.planes = plan.block_planes() + (s.cap ? 1 : 0);
    const size_t v = s.variables;
    s.evaluations = plan.compensates() ? 5 + plan.slack_planes_ + (s.cap ? 1 : 0) : 3;
    s.scalars = 1 + bit_check_scalars(s.planes, s.variables, s.evaluations);
    if (plan.compensates()) s.scalars += (2 * v + 3) + (3 * v + 3);
    const uint64_t first = s.rows.first_row * plan.geometry_.row, end = first + s.size();
    for (; next < mask.support.size(); ++next) {
      const uint64_t index = layout.padded_index(mask.support[next]);
      if (index >= end) break;
      s.masked.push_back(static_cast<uint32_t>(index - first));
    }
    plan.segments_.push_back(std::move(s));
  }
  return plan;
}

size_t WindowPlan::bit_rows() const {
  size_t rows = compensates() ? 1 : 0;
  for (const WindowSegment& s : segments_) rows += block_planes() * s.rows.rows;
  return rows;
}

ProofShape WindowPlan::shape() const {
  ProofShape shape{.row_length = geometry_.row,
                   .rows = bit_rows(),
                   .forks = {},
                   .pairs = pairs_per_segment() * segments_.size(),
                   .products = products_per_segment() * segments_.size()};
  for (const WindowSegment& s : segments_) shape.forks.push_back(s.scalars);
  return shape;
}

}  // namespace zkapex
