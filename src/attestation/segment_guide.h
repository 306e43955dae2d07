// Δ of one segment. What is decoded at a time are a few slots.
#pragma once

#include "algebra/scalar.h"
#include "attestation/window_plan.h"
#include "base/threads.h"
#include "base/unset_vector.h"

namespace zkapex {

class SegmentGuide {
 public:
  // All outlive it. Without a reader Δ is zero.
  SegmentGuide(const Layout& layout, const GuideReader* reader, const WindowSegment& segment)
      : layout_(layout), reader_(reader), segment_(segment) {}

  struct Sums {
    Scalar at_r;                // Σ_i eq(r, i) Δ_i
    std::vector<Wide> squares;  // Σ Δ² over each of the segment's groups
  };
  [[nodiscard]] Sums sums(std::span<const Scalar> r, ThreadPool& pool) const;
  // Δ by index; empty where it is zero.
  [[nodiscard]] UnsetVector<int64_t> integers(ThreadPool& pool) const;

 private:
  // Signs of a slot; returns its magnitude.
  uint64_t read(uint64_t slot, std::span<int8_t> signs) const;

  const Layout& layout_;
  const GuideReader* reader_;
  const WindowSegment& segment_;
};

// Of a mask that has a guide.
[[nodiscard]] std::optional<GuideReader> guide_reader(const Deployment& deployment, const Mask& mask);

}  // namespace zkapex
