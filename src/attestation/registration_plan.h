// What a registration proves, cut into units of bounded memory: the covered weights θ_p are w-bit and zero on padding;
// with a certificate, every entry of the curvature's squares is c-bit.
#pragma once

#include "argument/proof.h"
#include "unlearning/deployment.h"
#include "weights/segments.h"

namespace zkapex {

// How a registration is cut. Public; any cut that covers every row once will do.
struct RegistrationCut {
  Segmentation model;      // covered rows
  Segmentation curvature;  // curvature rows; empty without a certificate
  bool operator==(const RegistrationCut&) const = default;
};

// One range proof: rows of integers whose bits are committed plane by plane.
struct RangeUnit {
  bool model = false;  // weights, which must be zero on padding; or squares of the curvature
  Segment rows;        // for squares: first_row and rows among the curvature's rows, nothing else
  unsigned planes = 0, variables = 0, row_variables = 0;
  size_t scalars = 0;        // sent on the unit's fork
  size_t first_bit_row = 0;  // among the proof's rows: plane after plane

  [[nodiscard]] size_t bit_rows() const { return planes * rows.rows; }
};

class RegistrationPlan {
 public:
  static Result<RegistrationPlan> make(const Deployment& deployment, bool certificate, const RegistrationCut& cut);

  [[nodiscard]] bool certificate() const { return certificate_; }
  [[nodiscard]] const RegistrationCut& cut() const { return cut_; }
  [[nodiscard]] const std::vector<RangeUnit>& units() const { return units_; }
  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] unsigned side_variables() const { return side_variables_; }
  [[nodiscard]] ProofShape shape() const;

 private:
  void add(RangeUnit unit);

  bool certificate_ = false;
  RegistrationCut cut_;
  Geometry geometry_;
  unsigned side_variables_ = 0;
  std::vector<RangeUnit> units_;
};

// Rows of the curvature's commitment: S for every covered row.
[[nodiscard]] uint64_t curvature_rows(const Layout& layout);

}  // namespace zkapex
