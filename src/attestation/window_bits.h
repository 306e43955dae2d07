// The bits that a window commits to: θ_u plane by plane, the slack of every block's residual, the slack of the cap.
#pragma once

#include "argument/bit_matrix.h"
#include "argument/row_openings.h"
#include "attestation/model_reader.h"
#include "attestation/segment_prover.h"
#include "attestation/window_plan.h"

namespace zkapex {

// What the operator made of the model.
class OperatorOutput {
 public:
  virtual ~OperatorOutput() = default;
  // Weights of whole covered rows, zero on padding.
  virtual Status weights(uint64_t first_row, std::span<int64_t> out) const = 0;
  // Σ y² over the unmasked coordinates of a slot; 0 where nothing moved.
  [[nodiscard]] virtual Wide residual(uint64_t slot) const = 0;
};

class WindowBits {
 public:
  // An error, which says which bound, if the operator's output does not meet the relation. Both readers are done with
  // afterwards: the bits hold θ_u.
  static Result<WindowBits> make(const Deployment& deployment, const WindowPlan& plan, const ModelReader& before,
                                 const OperatorOutput& after, ThreadPool& pool);

  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) const;
  [[nodiscard]] Sha512::Digest digest() const;  // of the witness, for nonces

  // θ_u of a segment, by index.
  [[nodiscard]] std::vector<int64_t> weights(const WindowSegment& segment, ThreadPool& pool) const;
  Result<SegmentWitness> witness(const WindowSegment& segment, const ModelReader& before, ThreadPool& pool) const;
  [[nodiscard]] SegmentRows rows(const WindowSegment& segment, const CommittedRows& committed) const;

 private:
  WindowBits(const Deployment& deployment, const WindowPlan& plan);
  Status fill_segment(const WindowSegment& segment, const ModelReader& before, const OperatorOutput& after, Wide& moved,
                      Wide& removed, ThreadPool& pool);
  Status add_slacks(const WindowSegment& segment, const OperatorOutput& after, std::vector<uint64_t>& words) const;
  Status set_cap(const Wide& moved, const Wide& removed);

  const Deployment& deployment_;
  const WindowPlan& plan_;
  BitMatrix bits_;
  std::vector<uint64_t> cap_row_;
  Wide cap_slack_;
};

}  // namespace zkapex
