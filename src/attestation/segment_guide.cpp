#include "attestation/segment_guide.h"

#include <algorithm>

#include "algebra/fold.h"
#include "algebra/multilinear.h"

namespace zkapex {

SegmentGuide::SegmentGuide(const Deployment& deployment, const Mask& mask, const WindowPlan& plan,
                           const WindowSegment& segment, ThreadPool& pool)
    : segment_(segment), stride_(plan.geometry().stride()), slots_per_row_(plan.geometry().blocks_per_row()) {
  if (!mask.guidance) return;
  const Layout& layout = deployment.layout();
  const GuideReader reader(layout, mask.support, mask.guidance->guide);
  signs_.resize(segment.rows.slots * stride_);
  magnitudes_.resize(segment.rows.slots);
  counts_.resize(segment.rows.slots);
  pool.for_ranges(segment.rows.slots, 16, [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) {
      const auto signs = std::span(signs_).subspan(b * stride_, stride_);
      const std::optional<uint64_t> block = layout.block_in_slot(segment.rows.first_slot + b);
      const size_t count = block ? layout.block(*block).count : 0;
      std::ranges::fill(signs.subspan(count), int8_t{0});
      if (!block) continue;
      reader.signs(*block, signs.first(count));
      magnitudes_[b] = reader.magnitude(*block);
      counts_[b] = count - static_cast<uint64_t>(std::ranges::count(signs.first(count), int8_t{0}));
    }
  });
}

std::pair<size_t, size_t> SegmentGuide::slots_of(const SegmentGroup& group) const {
  return {group.first_row * slots_per_row_, (group.first_row + group.rows) * slots_per_row_};
}

Scalar SegmentGuide::at(std::span<const Scalar> r, ThreadPool& pool) const {
  Scalar out;
  if (signs_.empty()) return out;
  const std::vector<Scalar> slot = eq_table(r.first(segment_.slot_variables));
  const std::vector<Scalar> side = eq_table(r.subspan(segment_.slot_variables));
  const std::vector<Scalar> folded =
      fold_columns(IntMatrix(signs_.data(), magnitudes_.size(), stride_, stride_), side, pool);
  for (size_t b = 0; b < magnitudes_.size(); ++b) out += slot[b] * Scalar::from_u64(magnitudes_[b]) * folded[b];
  return out;
}

std::vector<Wide> SegmentGuide::squares() const {
  std::vector<Wide> out(segment_.groups.size());
  if (signs_.empty()) return out;
  for (size_t g = 0; g < out.size(); ++g) {
    const auto [begin, end] = slots_of(segment_.groups[g]);
    for (size_t b = begin; b < end; ++b) {
      out[g] += Wide(counts_[b]) * Wide::square_of(static_cast<int128>(magnitudes_[b]));
    }
  }
  return out;
}

UnsetVector<int64_t> SegmentGuide::integers(ThreadPool& pool) const {
  UnsetVector<int64_t> out(signs_.size());
  pool.for_ranges(magnitudes_.size(), 256, [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) {
      const auto magnitude = static_cast<int64_t>(magnitudes_[b]);
      for (size_t i = b * stride_; i < (b + 1) * stride_; ++i) out[i] = magnitude * signs_[i];
    }
  });
  return out;
}

}  // namespace zkapex
