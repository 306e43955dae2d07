#include "attestation/registration_plan.h"

#include <algorithm>

#include "base/bits.h"
#include "unlearning/bounds.h"

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

Result<RegistrationPlan> RegistrationPlan::uncut(const Deployment& deployment, const UpdateTerms* update) {
  const Layout& layout = deployment.layout();
  const Parameters& p = deployment.parameters();
  RegistrationPlan plan;
  plan.geometry_ = layout.geometry();
  plan.side_variables_ = log2_ceil(plan.geometry_.stride());
  plan.model_rows_ = layout.rows();
  plan.curvature_rows_ = update == nullptr || update->curvature ? zkapex::curvature_rows(layout) : 0;
  plan.unchanged_rows_ = layout.unchanged_rows();
  const auto bounded = [&](uint64_t rows, uint64_t chunk, uint32_t bits) {
    ProjectionShape shape{plan.geometry_.row, rows, chunk, p.projections, bits, {}};
    shape.units = standard_units(shape);
    return shape;
  };
  plan.projections_ = {{bounded(plan.model_rows_, p.weight_chunk, p.weight_bits()), 0, {}}};
  if (plan.curvature_rows_ > 0)
    plan.projections_.push_back({bounded(plan.curvature_rows_, p.curvature_chunk, p.curvature_range_bits()), 1, {}});
  if (plan.unchanged_rows_ > 0)
    plan.projections_.push_back({bounded(plan.unchanged_rows_, p.other_chunk, Parameters::kOtherBits), 2, {}});
  size_t row = 0;
  for (ProjectedRows& projected : plan.projections_) {
    if (projected.shape.units.empty()) return error("the parts of a registration are more than {}", kMaxForks);
    projected.rows.first_row = row;
    row += projected.shape.rows;
  }
  ZKAPEX_CHECK(plan.set_sums(deployment, update));
  row += plan.slack_rows();
  for (ProjectedRows& projected : plan.projections_) {
    projected.rows.first_bit_row = row;
    row += projected.shape.later_rows();
  }
  if (plan.sums_) {
    for (ProgressUnit& unit : plan.sums_->progress_units) unit.first_before += row;  // behind the proof's rows
  }
  if (update != nullptr) {
    size_t behind = row;
    for (const PastWindow& window : update->windows) behind += window.mask->guidance ? plan.model_rows_ : 0;
    plan.current_ = KnownRows{behind, plan.model_rows_, plan.geometry_.row};
  }
  if (plan.uncut_forks() >= kMaxForks) return error("the parts of a registration are more than {}", kMaxForks);
  return plan;
}

// Rows of a tensor are consecutive, and so are those of all tensors of a kind.
void RegistrationPlan::add_anchor(const Deployment& deployment, BoundedSums& to) const {
  if (!deployment.anchor()) return;
  std::vector<AnchoredRun> covered, others;
  for (const AnchoredTensor& anchored : deployment.anchored()) {
    const LayoutTensor& tensor = deployment.layout().tensors()[anchored.tensor];
    (tensor.covered ? covered : others).push_back({to.bounds.size(), tensor.first_row, tensor.rows});
    to.bounds.push_back(anchored.bound);
  }
  to.units = anchored_units(geometry_.row, model_rows_, 0, covered);
  to.covered_units = to.units.size();
  for (AnchoredUnit& unit : anchored_units(geometry_.row, unchanged_rows_, model_rows_ + curvature_rows_, others)) {
    to.units.push_back(std::move(unit));
  }
}

// Units without a tensor that the guide draws have nothing to show.
void RegistrationPlan::add_progress(const Deployment& deployment, const UpdateTerms& update, BoundedSums& to) const {
  const Layout& layout = deployment.layout();
  size_t first_before = 0;
  for (size_t j = 0; j < update.windows.size(); ++j) {
    const std::optional<Guidance>& guidance = update.windows[j].mask->guidance;
    if (!guidance) continue;
    const std::vector<Wide> squares = PastGuide(layout, update, j).squares();
    std::vector<AnchoredRun> drawn;
    for (size_t k = 0; k < squares.size(); ++k) {
      if (squares[k] == Wide()) continue;
      const LayoutTensor& tensor = layout.tensors()[layout.covered()[k]];
      drawn.push_back({to.groups(), tensor.first_row, tensor.rows});
      to.progress.push_back({j, layout.covered()[k], Wide(guidance->progress) * squares[k]});
    }
    for (AnchoredUnit& unit : anchored_units(geometry_.row, model_rows_, 0, drawn)) {
      if (!unit.runs.empty()) to.progress_units.push_back({j, first_before + unit.first_row, std::move(unit)});
    }
    first_before += model_rows_;
  }
}

Status RegistrationPlan::set_sums(const Deployment& deployment, const UpdateTerms* update) {
  BoundedSums sums;
  add_anchor(deployment, sums);
  uint32_t bits = deployment.anchor_bits();
  if (update != nullptr) {
    ZKAPEX_CHECK(check_guides(*update));
    add_progress(deployment, *update, sums);
  }
  if (!sums.progress.empty()) bits = std::max(bits, progress_bits(deployment));
  if (sums.groups() == 0) return Done{};
  if (bits > geometry_.row) return error("slacks of {} bits have no room in a row of {}", bits, geometry_.row);
  sums.slacks = {geometry_.row, sums.groups(), bits};
  sums.first_slack_row = model_rows_ + curvature_rows_ + unchanged_rows_;
  sums_ = std::move(sums);
  return Done{};
}

size_t RegistrationPlan::uncut_forks() const {
  size_t out = (sums_ ? sums_->forks() : 0) + (current_ ? 1 : 0);
  for (const ProjectedRows& projected : projections_) out += projected.shape.forks();
  return out;
}

Result<RegistrationPlan> RegistrationPlan::make(const Deployment& deployment, const Segmentation& cut,
                                                const UpdateTerms* update) {
  const Layout& layout = deployment.layout();
  ZKAPEX_TRY(RegistrationPlan plan, uncut(deployment, update));
  plan.cut_ = cut;
  if (cut.size() > kMaxForks - plan.uncut_forks())
    return error("the parts of a registration are more than {}", kMaxForks);
  ZKAPEX_TRY(std::vector<Segment> segments, make_segments(layout, cut));
  const std::span<const uint64_t> removed = update != nullptr ? update->removed() : std::span<const uint64_t>();
  size_t next = 0;  // of what was removed
  for (Segment& segment : segments) {
    PaddedSegment padded{.rows = std::move(segment), .removed = {}};
    const uint64_t first = padded.rows.first_row * plan.geometry_.row;
    for (; next < removed.size(); ++next) {
      const uint64_t index = layout.padded_index(removed[next]);
      if (index >= first + padded.rows.rows * plan.geometry_.row) break;
      padded.removed.push_back(static_cast<uint32_t>(index - first));
    }
    if (padded.removed.empty() && !has_padding(plan.geometry_, padded.rows)) continue;
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
Result<RegistrationPlan::Most> RegistrationPlan::most(const Deployment& deployment, const UpdateTerms* update) {
  ZKAPEX_TRY(RegistrationPlan plan, uncut(deployment, update));
  const size_t parts = std::min<size_t>(plan.model_rows_, kMaxForks - plan.uncut_forks());
  PaddedSegment part;
  part.variables = parts == plan.model_rows_ ? log2_ceil(plan.geometry_.row) : kMaxVariables;
  plan.padded_.assign(parts, part);
  return Most{plan.shape().bytes(), parts};
}

ProofShape RegistrationPlan::shape() const {
  ProofShape out{.row_length = geometry_.row,
                 .rows = model_rows_ + curvature_rows_ + unchanged_rows_ + slack_rows(),
                 .forks = {},
                 .pairs = padded_.size(),
                 .products = 0,
                 .later_rows = 0};
  for (const PaddedSegment& segment : padded_) out.forks.push_back(segment.scalars());
  if (sums_) {
    for (const AnchoredUnit& unit : sums_->units) out.forks.push_back(unit.scalars());
    for (const ProgressUnit& unit : sums_->progress_units) out.forks.push_back(unit.rows.scalars());
    out.forks.push_back(slack_scalars(sums_->slacks));
    out.pairs += sums_->forks();
    out.products += sums_->products();
  }
  for (const ProjectedRows& projected : projections_) {
    const ProjectionShape& shape = projected.shape;
    const std::vector<size_t> scalars = shape.fork_scalars();
    out.forks.insert(out.forks.end(), scalars.begin(), scalars.end());
    out.pairs += shape.pairs();
    out.products += shape.products();
    out.later_rows += shape.later_rows();
  }
  if (current_) {
    out.forks.push_back(KnownRows::kScalars);
    ++out.pairs;
  }
  out.rows += out.later_rows;
  return out;
}

}  // namespace zkapex
