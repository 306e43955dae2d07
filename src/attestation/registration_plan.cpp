#include "attestation/registration_plan.h"

#include <algorithm>

#include "base/bits.h"

namespace zkapex {

namespace {

bool has_padding(const Geometry& geometry, const Segment& segment) {
  uint64_t real = 0;
  for (const SegmentPiece& piece : segment.pieces) {
    real += piece.rest != 0 ? piece.rest : piece.full_blocks * geometry.block;
  }
  return real < segment.rows * geometry.row;
}

}  // namespace

uint64_t curvature_rows(const Layout& layout) { return layout.rows() * layout.geometry().stride(); }

Result<RegistrationPlan> RegistrationPlan::make(const Deployment& deployment, const Segmentation& cut) {
  const Layout& layout = deployment.layout();
  const Parameters& p = deployment.parameters();
  RegistrationPlan plan;
  plan.cut_ = cut;
  plan.geometry_ = layout.geometry();
  plan.side_variables_ = log2_ceil(plan.geometry_.stride());
  plan.model_rows_ = layout.rows();
  plan.curvature_rows_ = zkapex::curvature_rows(layout);
  plan.unchanged_rows_ = layout.unchanged_rows();
  const size_t n = plan.geometry_.row;
  const auto bounded = [&](uint64_t rows, uint64_t chunk, uint32_t bits) {
    ProjectionShape shape{n, rows, chunk, p.projections, bits, {}};
    shape.units = standard_units(shape);
    return shape;
  };
  plan.projections_ = {{bounded(plan.model_rows_, p.weight_chunk, p.weight_bits()), 0, {}},
                       {bounded(plan.curvature_rows_, p.curvature_chunk, p.curvature_range_bits()), 1, {}}};
  if (plan.unchanged_rows_ > 0)
    plan.projections_.push_back({bounded(plan.unchanged_rows_, p.other_chunk, Parameters::kOtherBits), 2, {}});
  size_t row = 0, forks = cut.size();
  for (ProjectedRows& projected : plan.projections_) {
    projected.rows.first_row = row;
    row += projected.shape.rows;
    forks += projected.shape.forks();
  }
  for (ProjectedRows& projected : plan.projections_) {
    projected.rows.first_bit_row = row;
    row += projected.shape.later_rows();
  }
  const bool too_many =
      std::ranges::any_of(plan.projections_, [](const auto& rows) { return rows.shape.units.empty(); });
  if (too_many || forks > kMaxForks) return error("the parts of a registration are more than {}", kMaxForks);
  ZKAPEX_TRY(std::vector<Segment> segments, make_segments(layout, cut));
  for (Segment& segment : segments) {
    if (!has_padding(plan.geometry_, segment)) continue;
    PaddedSegment padded{.rows = std::move(segment)};
    padded.row_variables = log2_ceil(padded.rows.rows);
    padded.variables = padded.row_variables + log2_ceil(n);
    if (padded.variables > 31) return error("a part of {} rows of {} is too large", padded.rows.rows, n);
    plan.padded_.push_back(std::move(padded));
  }
  return plan;
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
    for (size_t k = 0; k < shape.forks(); ++k) out.forks.push_back(shape.scalars(k));
    out.pairs += shape.pairs();
    out.products += shape.products();
    out.later_rows += shape.later_rows();
  }
  out.rows += out.later_rows;
  return out;
}

}  // namespace zkapex
