// Δ of one segment. What is decoded at a time are a few slots.
#pragma once

#include "algebra/scalar.h"
#include "argument/sumcheck_table.h"
#include "attestation/window_plan.h"
#include "base/threads.h"
#include "base/unset_vector.h"

namespace zkapex {

// Δ by index: its slot's magnitude times its sign.
class GuideTable {
 public:
  GuideTable() = default;  // empty: Δ is zero
  explicit GuideTable(const WindowSegment& segment)
      : magnitudes_(segment.rows.slots),
        signs_(segment.size()),
        slot_bits_(segment.variables - segment.slot_variables) {}

  [[nodiscard]] bool empty() const { return signs_.empty(); }
  [[nodiscard]] size_t stride() const { return size_t{1} << slot_bits_; }
  [[nodiscard]] std::span<int8_t> signs(size_t slot) { return std::span(signs_).subspan(slot * stride(), stride()); }
  void set_magnitude(size_t slot, uint64_t magnitude) { magnitudes_[slot] = static_cast<int64_t>(magnitude); }
  // Δ of a slot, stride() entries.
  void read(size_t slot, std::span<int64_t> out) const {
    const int8_t* signs = signs_.data() + slot * stride();
    for (size_t j = 0; j < out.size(); ++j) out[j] = magnitudes_[slot] * signs[j];
  }
  // It outlives what is returned.
  [[nodiscard]] SumcheckTable table() const { return {SumcheckTable::Signed{magnitudes_, slot_bits_, signs_}}; }

 private:
  std::vector<int64_t> magnitudes_;
  UnsetVector<int8_t> signs_;
  unsigned slot_bits_ = 0;
};

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
  [[nodiscard]] GuideTable table(ThreadPool& pool) const;

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
