// What prover and verifier of a window agree on before anything is sent: segments, bit planes, counts. All of it
// follows from public inputs.
#pragma once

#include "argument/projection.h"
#include "attestation/slack_rows.h"
#include "unlearning/bounds.h"
#include "unlearning/rules.h"
#include "weights/segments.h"

namespace zkapex {

// The rows of a segment that are in one group of rows; the last one of a segment has what is virtual, too.
struct SegmentGroup {
  size_t group = 0;                  // in WindowPlan::groups()
  uint64_t first_row = 0, rows = 0;  // of the segment
};

// Dimensions of one segment. An index i of it is (slot, j) = (row, position): slots of S entries, rows of n.
struct WindowSegment {
  Segment rows;
  std::vector<uint32_t> masked;  // indices i, strictly increasing
  std::vector<SegmentGroup> groups;

  unsigned variables = 0;       // of i
  unsigned row_variables = 0;   // the highest of them: the row
  unsigned slot_variables = 0;  // the highest of them: the slot
  unsigned planes = 0;
  unsigned rule_planes = 0;  // of them, at the end: those of the rules' slacks, which have one row each
  size_t evaluations = 0;    // scalars sent at the end of the joint sumcheck, before the rest over the planes
  size_t scalars = 0;        // sent on the segment's fork in all

  [[nodiscard]] size_t size() const { return size_t{rows.rows} << (variables - row_variables); }  // committed indices
  [[nodiscard]] bool padded() const { return size() < size_t{1} << variables; }                   // there are others
};

class WindowPlan {
 public:
  // `mask` was checked for the deployment. Refuses a segmentation that does not cover every row once.
  static Result<WindowPlan> make(const Deployment& deployment, const Mask& mask, const Segmentation& segmentation);
  // Bytes that no proof exceeds, with any segmentation, and parts that no segmentation exceeds.
  struct Most {
    size_t proof_bytes, parts;
  };
  static Result<Most> most(const Deployment& deployment, const Mask& mask);

  [[nodiscard]] Operator op() const { return op_; }
  [[nodiscard]] bool compensates() const { return op_ != Operator::kMaskOnly; }
  [[nodiscard]] bool guided() const { return op_ == Operator::kGuided; }
  [[nodiscard]] const Geometry& geometry() const { return geometry_; }
  [[nodiscard]] const Segmentation& segmentation() const { return segmentation_; }
  [[nodiscard]] const std::vector<WindowSegment>& segments() const { return segments_; }
  [[nodiscard]] const Wide& residual_bound() const { return bounds_.residual; }  // Y_blk
  [[nodiscard]] uint64_t floor() const { return floor_; }                        // μ + t
  [[nodiscard]] uint64_t pull() const { return pull_; }                          // t
  [[nodiscard]] const std::vector<Rule>& rules() const { return rules_; }        // of each group
  [[nodiscard]] const std::vector<RowGroup>& groups() const { return groups_; }
  [[nodiscard]] size_t rule_count() const { return rules_.size() * groups_.size(); }  // group by group
  [[nodiscard]] unsigned slack_bits() const { return bounds_.slack_bits; }            // NB
  [[nodiscard]] unsigned slack_planes() const { return slack_planes_; }               // Q: planes that have all rows
  [[nodiscard]] unsigned side_variables() const { return side_variables_; }           // log2 S
  [[nodiscard]] unsigned position_variables() const { return position_variables_; }   // log2 n
  // Whether Lᵀ x fits 64 bits whatever the weights are: it is a sum of S products, |L| < 2^(c−1) and |x| < 2^w.
  [[nodiscard]] bool narrow_z() const { return narrow_z_; }
  [[nodiscard]] size_t pairs_per_segment() const { return compensates() ? 3 : 1; }
  [[nodiscard]] size_t products_per_segment() const { return compensates() ? 5 : 1; }
  [[nodiscard]] unsigned rule_planes() const { return rule_planes_; }
  // The rules' slacks: each of the rows is a plane.
  [[nodiscard]] SlackRows rule_rows() const { return {geometry_.row, rule_count(), slack_bits()}; }
  // The rows of a proof: of θ_u, then the slacks' bits, of all segments and the rules' after them, then the projections
  // of θ_u.
  [[nodiscard]] size_t weight_rows() const { return projection_.shape.rows; }
  [[nodiscard]] size_t bit_rows() const;
  [[nodiscard]] size_t first_bit_row(const WindowSegment& segment) const {
    return weight_rows() + slack_planes_ * segment.rows.first_row;
  }
  [[nodiscard]] size_t first_rule_row() const { return weight_rows() + bit_rows() - rule_planes_; }
  [[nodiscard]] const ProjectedRows& projection() const { return projection_; }
  [[nodiscard]] ProofShape shape() const;

 private:
  // All but the segments.
  static Result<WindowPlan> uncut(const Deployment& deployment, const Mask& mask);
  void count_scalars(WindowSegment& segment) const;

  Operator op_ = Operator::kGroupObs;
  Geometry geometry_;
  Segmentation segmentation_;
  std::vector<WindowSegment> segments_;
  ProjectedRows projection_;
  WindowBounds bounds_;
  uint64_t pull_ = 0, floor_ = 0;
  std::vector<Rule> rules_;
  std::vector<RowGroup> groups_;
  unsigned slack_planes_ = 0, rule_planes_ = 0, side_variables_ = 0, position_variables_ = 0;
  bool narrow_z_ = false;
};

}  // namespace zkapex
