// The slacks of a window's rules, as integers and as the rows of their planes.
#pragma once

#include "algebra/row_commit.h"
#include "attestation/public_terms.h"

namespace zkapex {

class RuleBits {
 public:
  RuleBits() = default;
  // A slack for each rule, in the plan's order; of each the lowest NB bits count.
  RuleBits(const WindowPlan& plan, std::vector<Wide> slacks);

  [[nodiscard]] PackedRows packed() const;
  [[nodiscard]] std::span<const uint64_t> row(size_t plane) const;
  // Each plane's bits, packed in bytes.
  [[nodiscard]] std::vector<std::vector<uint8_t>> planes() const;
  // Σ_k γ^k (slack of rule k)
  [[nodiscard]] Scalar sum(const RuleWeights& rules) const;

 private:
  size_t row_length_ = 0, planes_ = 0;
  std::vector<Wide> slacks_;
  std::vector<uint64_t> words_;
};

// Of x = θ_u − θ_p by index: free are those outside the mask; Δ may be empty and stands for zeros.
[[nodiscard]] RuleSums sum_moves(std::span<const int64_t> x, std::span<const uint8_t> free,
                                 std::span<const int64_t> guide);
// The same for each of the segment's groups.
[[nodiscard]] std::vector<RuleSums> sum_moves(const WindowSegment& segment, std::span<const int64_t> x,
                                              std::span<const uint8_t> free, std::span<const int64_t> guide,
                                              ThreadPool& pool);

}  // namespace zkapex
