// What a registration proves, and in which parts: the weights and the curvature, and the tensors that no operator
// touches, are small, by projection; the covered weights θ_p are zero on padding, segment by segment.
#pragma once

#include "argument/projection.h"
#include "unlearning/deployment.h"
#include "weights/segments.h"

namespace zkapex {

// Covered rows that are shown together to be zero on padding. Only where there is some.
struct PaddedSegment {
  Segment rows;
  unsigned variables = 0, row_variables = 0;

  [[nodiscard]] size_t scalars() const { return 3 * size_t{variables} + 1; }  // on its fork
};

class RegistrationPlan {
 public:
  // How covered rows are cut is public; any cut that covers every row once will do.
  static Result<RegistrationPlan> make(const Deployment& deployment, const Segmentation& cut);
  // Bytes that no proof exceeds, with any cut, and parts that no cut exceeds.
  struct Most {
    size_t proof_bytes, parts;
  };
  static Result<Most> most(const Deployment& deployment);

  [[nodiscard]] const Segmentation& cut() const { return cut_; }
  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] unsigned side_variables() const { return side_variables_; }  // log2 S
  [[nodiscard]] const std::vector<PaddedSegment>& padded() const { return padded_; }
  [[nodiscard]] const std::vector<ProjectedRows>& projections() const { return projections_; }
  // Rows of each kind; they come in this order.
  [[nodiscard]] size_t model_rows() const { return model_rows_; }
  [[nodiscard]] size_t curvature_rows() const { return curvature_rows_; }
  [[nodiscard]] size_t unchanged_rows() const { return unchanged_rows_; }
  [[nodiscard]] ProofShape shape() const;

 private:
  // All but the cut.
  static Result<RegistrationPlan> uncut(const Deployment& deployment);
  [[nodiscard]] size_t projection_forks() const;

  Segmentation cut_;
  Geometry geometry_;
  unsigned side_variables_ = 0;
  size_t model_rows_ = 0, curvature_rows_ = 0, unchanged_rows_ = 0;
  std::vector<PaddedSegment> padded_;
  std::vector<ProjectedRows> projections_;
};

// Rows of the curvature's commitment: S for every covered row.
[[nodiscard]] uint64_t curvature_rows(const Layout& layout);

}  // namespace zkapex
