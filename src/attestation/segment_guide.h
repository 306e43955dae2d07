// Δ of one segment, decoded: a sign for each index, a magnitude for each slot.
#pragma once

#include "algebra/scalar.h"
#include "attestation/window_plan.h"
#include "base/threads.h"
#include "base/unset_vector.h"

namespace zkapex {

class SegmentGuide {
 public:
  // Empty, and zero everywhere, where the mask has no guide.
  SegmentGuide(const Deployment& deployment, const Mask& mask, const WindowPlan& plan, const WindowSegment& segment,
               ThreadPool& pool);

  // Σ_i eq(r, i) Δ_i
  [[nodiscard]] Scalar at(std::span<const Scalar> r, ThreadPool& pool) const;
  // Σ Δ² over each of the segment's groups.
  [[nodiscard]] std::vector<Wide> squares() const;
  // Δ by index.
  [[nodiscard]] UnsetVector<int64_t> integers(ThreadPool& pool) const;

 private:
  // The slots of one of the segment's groups.
  [[nodiscard]] std::pair<size_t, size_t> slots_of(const SegmentGroup& group) const;

  const WindowSegment& segment_;
  size_t stride_, slots_per_row_;
  UnsetVector<int8_t> signs_;
  std::vector<uint64_t> magnitudes_, counts_;  // by slot; of what is not zero
};

}  // namespace zkapex
