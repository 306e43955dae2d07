// What a window commits to: θ_u, and in bits the slack of every block's residual and that of every rule.
#pragma once

#include "argument/bit_matrix.h"
#include "argument/row_openings.h"
#include "attestation/model_reader.h"
#include "attestation/rule_terms.h"
#include "attestation/segment_prover.h"
#include "attestation/window_plan.h"

namespace zkapex {

// What the operator made of the model.
class OperatorOutput {
 public:
  virtual ~OperatorOutput() = default;
  // Weights of whole covered rows, zero on padding; from several threads at once.
  virtual Status weights(uint64_t first_row, std::span<int64_t> out) const = 0;
  // Σ y² over the unmasked coordinates of a slot; 0 where nothing moved.
  [[nodiscard]] virtual Wide residual(uint64_t slot) const = 0;
};

// One segment in memory.
struct SegmentBits {
  BitMatrix bits;
  SegmentWitness witness;
  SegmentRows rows;  // of `bits`, and what opens them
};

// Nothing but the rules' rows is kept: a segment's bits are made from the operator's output when they are wanted.
class WindowBits {
 public:
  // An error, which says which bound, if the operator's output does not meet the relation. All outlive this.
  static Result<WindowBits> make(const Deployment& deployment, const Mask& mask, const WindowPlan& plan,
                                 const ModelReader& before, const OperatorOutput& after, ThreadPool& pool);
  static Result<WindowBits> make(const Deployment&, const Mask&, const WindowPlan&, const ModelReader&,
                                 const OperatorOutput&&, ThreadPool&) = delete;  // a temporary would not outlive it

  // The rows of θ_u, then the bit rows.
  Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) const;
  // All rows of θ_u in order, a segment at a time.
  Status for_weights(const std::function<Status(std::span<const int64_t>)>& visit, ThreadPool& pool) const;
  [[nodiscard]] const Sha512::Digest& digest() const { return digest_; }  // of the witness, for nonces
  Result<SegmentBits> segment(const WindowSegment& segment, const RuleWeights& rules, const ModelReader& before,
                              const CommittedRows& committed, ThreadPool& pool) const;

 private:
  WindowBits(const Deployment& deployment, const Mask& mask, const WindowPlan& plan, const OperatorOutput& after);
  // θ_u of a segment by index, and the slacks as words of bits, where residuals are what they may be.
  Result<UnsetVector<int64_t>> weights(const WindowSegment& segment, ThreadPool& pool) const;
  [[nodiscard]] Status check_residuals(const WindowSegment& segment, Sha512& hash) const;
  [[nodiscard]] UnsetVector<uint64_t> slacks(const WindowSegment& segment, ThreadPool& pool) const;
  Status set_rules(const std::vector<RuleSums>& sums);

  const Deployment& deployment_;
  const Mask& mask_;
  const WindowPlan& plan_;
  const OperatorOutput& after_;
  Sha512::Digest digest_{};
  SlackBits rules_;
};

}  // namespace zkapex
