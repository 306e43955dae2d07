#include "attestation/registration_plan.h"

#include <algorithm>

#include "base/bits.h"

namespace zkapex {

namespace {

constexpr unsigned kMaxVariables = 31;  // of a part

bool has_padding(const Geometry& geometry, const Segment& segment) {
  uint64_t real = 0;
  for (const SegmentPiece& piece : segment.pieces) {
    real += piece.rest != 0 ? piece.rest : piece.full_blocks * geometry.block;
  }
  return real < segment.rows * geometry.row;
}

}  // namespace

uint64_t curvature_rows(const Layout& layout) { return layout.rows() * layout.geometry().stride(); }

Result<RegistrationPlan> RegistrationPlan::uncut(const Deployment& deployment) {
  const Layout& layout = deployment.layout();
  const Parameters& p = deployment.parameters();
  RegistrationPlan plan;
  plan.geometry_ = layout.geometry();
  plan.side_variables_ = log2_ceil(plan.geometry_.stride());
  plan.model_rows_ = layout.rows();
  plan.curvature_rows_ = zkapex::curvature_rows(layout);
  plan.unchanged_rows_ = layout.unchanged_rows();
  const auto bounded = [&](uint64_t rows, uint64_t chunk, uint32_t bits) {
    ProjectionShape shape{plan.geometry_.row, rows, chunk, p.projections, bits, {}};
    shape.units = standard_units(shape);
    return shape;
  };
  plan.projections_ = {{bounded(plan.model_rows_, p.weight_chunk, p.weight_bits()), 0, {}},
                       {bounded(plan.curvature_rows_, p.curvature_chunk, p.curvature_range_bits()), 1, {}}};
  if (plan.unchanged_rows_ > 0)
    plan.projections_.push_back({bounded(plan.unchanged_rows_, p.other_chunk, Parameters::kOtherBits), 2, {}});
  size_t row = 0;
  for (ProjectedRows& projected : plan.projections_) {
    if (projected.shape.units.empty()) return error("the parts of a registration are more than {}", kMaxForks);
    projected.rows.first_row = row;
    row += projected.shape.rows;
  }
  for (ProjectedRows& projected : plan.projections_) {
    projected.rows.first_bit_row = row;
    row += projected.shape.later_rows();
  }
  if (plan.projection_forks() >= kMaxForks) return error("the parts of a registration are more than {}", kMaxForks);
  return plan;
}

size_t RegistrationPlan::projection_forks() const {
  size_t out = 0;
  for (const ProjectedRows& projected : projections_) out += projected.shape.forks();
  return out;
}

Result<RegistrationPlan> RegistrationPlan::make(const Deployment& deployment, const Segmentation& cut) {
  ZKAPEX_TRY(RegistrationPlan plan, uncut(deployment));
  plan.cut_ = cut;
  if (cut.size() > kMaxForks - plan.projection_forks())
    return error("the parts of a registration are more than {}", kMaxForks);
  ZKAPEX_TRY(std::vector<Segment> segments, make_segments(deployment.layout(), cut));
  for (Segment& segment : segments) {
    if (!has_padding(plan.geometry_, segment)) continue;
    PaddedSegment padded{.rows = std::move(segment)};
    padded.row_variables = log2_ceil(padded.rows.rows);
    padded.variables = padded.row_variables + log2_ceil(plan.geometry_.row);
    if (padded.variables > kMaxVariables)
      return error("a part of {} rows of {} is too large", padded.rows.rows, plan.geometry_.row);
    plan.padded_.push_back(std::move(padded));
  }
  return plan;
}

// As if every row had padding and a part of its own: a part of r rows has 3 ⌈log r⌉ scalars more, which is less than
// what its other rows would have alone.
Result<RegistrationPlan::Most> RegistrationPlan::most(const Deployment& deployment) {
  ZKAPEX_TRY(RegistrationPlan plan, uncut(deployment));
  const size_t parts = std::min<size_t>(plan.model_rows_, kMaxForks - plan.projection_forks());
  PaddedSegment part;
  part.variables = parts == plan.model_rows_ ? log2_ceil(plan.geometry_.row) : kMaxVariables;
  plan.padded_.assign(parts, part);
  return Most{plan.shape().bytes(), parts};
}

ProofShape RegistrationPlan::shape() const {
  ProofShape out{.row_length = geometry_.row,
                 .rows = model_rows_ + curvature_rows_ + unchanged_rows_,
                 .forks = {},
                 .pairs = padded_.size(),
                 .products = 0,
                 .later_rows = 0};
  for (const PaddedSegment& segment : padded_) out.forks.push_back(segment.scalars());
  for (const ProjectedRows& projected : projections_) {
    const ProjectionShape& shape = projected.shape;
    const std::vector<size_t> scalars = shape.fork_scalars();
    out.forks.insert(out.forks.end(), scalars.begin(), scalars.end());
    out.pairs += shape.pairs();
    out.products += shape.products();
    out.later_rows += shape.later_rows();
  }
  out.rows += out.later_rows;
  return out;
}

}  // namespace zkapex
