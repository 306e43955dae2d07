// What a registration proves, and in which parts: the weights and the curvature, and the tensors that no operator
// touches, are small, by projection; the covered weights θ_p are zero on padding, segment by segment; and where the
// deployment has an anchor every tensor is near the base model's.
//
// An update is a registration with more to show: the weights are zero on what windows removed, too, the reference is
// where their guides have moved the base model, and what the model followed of each guide it still follows. It brings
// a curvature only where there is a new one.
#pragma once

#include "argument/projection.h"
#include "attestation/known_rows.h"
#include "attestation/past_windows.h"
#include "attestation/progress_rows.h"
#include "unlearning/deployment.h"
#include "weights/segments.h"

namespace zkapex {

// Covered rows that are shown together to be zero on padding and on what was removed. Only where there is some.
struct PaddedSegment {
  Segment rows;
  std::vector<uint32_t> removed;  // indices, strictly increasing; of an update only
  unsigned variables = 0, row_variables = 0;

  [[nodiscard]] size_t scalars() const { return 3 * size_t{variables} + 1; }  // on its fork
};

// What a past window asks of one tensor that its guide draws.
struct KeptProgress {
  size_t window = 0;  // of UpdateTerms
  size_t tensor = 0;  // in Layout::tensors()
  Wide least;         // π ΣΔ²
};

// Sums over tensors that are bounded. The deployment's anchor, over the covered rows and then the others; and what an
// update keeps of the progress of windows, window by window.
struct BoundedSums {
  std::vector<AnchoredUnit> units;
  size_t covered_units = 0;  // of these, the first ones
  std::vector<Wide> bounds;  // B_k of each group: a tensor that is not free
  std::vector<ProgressUnit> progress_units;
  std::vector<KeptProgress> progress;  // groups that follow those of the anchor
  SlackRows slacks;                    // of all groups
  size_t first_slack_row = 0;

  [[nodiscard]] size_t groups() const { return bounds.size() + progress.size(); }
  // Units, and the slacks.
  [[nodiscard]] size_t forks() const { return units.size() + progress_units.size() + 1; }
  [[nodiscard]] size_t products() const { return units.size() + 1; }
};

class RegistrationPlan {
 public:
  // How covered rows are cut is public; any cut that covers every row once will do. `update`: none for a registration.
  static Result<RegistrationPlan> make(const Deployment& deployment, const Segmentation& cut,
                                       const UpdateTerms* update = nullptr);
  // Bytes that no proof exceeds, with any cut, and parts that no cut exceeds.
  struct Most {
    size_t proof_bytes, parts;
  };
  static Result<Most> most(const Deployment& deployment, const UpdateTerms* update = nullptr);

  [[nodiscard]] const Segmentation& cut() const { return cut_; }
  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] unsigned side_variables() const { return side_variables_; }  // log2 S
  [[nodiscard]] const std::vector<PaddedSegment>& padded() const { return padded_; }
  [[nodiscard]] const std::optional<BoundedSums>& sums() const { return sums_; }
  [[nodiscard]] const std::vector<ProjectedRows>& projections() const { return projections_; }
  // Of an update: the rows that it goes on from. Whoever makes it can open them.
  [[nodiscard]] const std::optional<KnownRows>& current() const { return current_; }
  // Rows of each kind; they come in this order.
  [[nodiscard]] size_t model_rows() const { return model_rows_; }
  [[nodiscard]] size_t curvature_rows() const { return curvature_rows_; }
  [[nodiscard]] size_t unchanged_rows() const { return unchanged_rows_; }
  [[nodiscard]] size_t slack_rows() const { return sums_ ? sums_->slacks.rows() : 0; }
  [[nodiscard]] ProofShape shape() const;

 private:
  // All but the cut.
  static Result<RegistrationPlan> uncut(const Deployment& deployment, const UpdateTerms* update);
  void add_anchor(const Deployment& deployment, BoundedSums& to) const;
  void add_progress(const Deployment& deployment, const UpdateTerms& update, BoundedSums& to) const;
  [[nodiscard]] Status set_sums(const Deployment& deployment, const UpdateTerms* update);
  [[nodiscard]] size_t uncut_forks() const;  // of sums, of projections and of what an update goes on from

  Segmentation cut_;
  Geometry geometry_;
  unsigned side_variables_ = 0;
  size_t model_rows_ = 0, curvature_rows_ = 0, unchanged_rows_ = 0;
  std::vector<PaddedSegment> padded_;
  std::optional<BoundedSums> sums_;
  std::vector<ProjectedRows> projections_;
  std::optional<KnownRows> current_;
};

// Rows of the curvature's commitment: S for every covered row.
[[nodiscard]] uint64_t curvature_rows(const Layout& layout);

}  // namespace zkapex
