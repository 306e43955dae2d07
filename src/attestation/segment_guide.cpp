#include "attestation/segment_guide.h"

#include <algorithm>
#include <mutex>

#include "algebra/fold.h"
#include "algebra/multilinear.h"

namespace zkapex {

std::optional<GuideReader> guide_reader(const Deployment& deployment, const Mask& mask) {
  if (!mask.guidance) return std::nullopt;
  return GuideReader(deployment.layout(), mask.support, mask.guidance->guide);
}

uint64_t SegmentGuide::read(uint64_t slot, std::span<int8_t> signs) const {
  const std::optional<uint64_t> block = layout_.block_in_slot(segment_.rows.first_slot + slot);
  const size_t count = block ? layout_.block(*block).count : 0;
  std::ranges::fill(signs.subspan(count), int8_t{0});
  if (!block) return 0;
  reader_->signs(*block, signs.first(count));
  return reader_->magnitude(*block);
}

SegmentGuide::Sums SegmentGuide::sums(std::span<const Scalar> r, ThreadPool& pool) const {
  constexpr size_t kSlotsAtOnce = 64;
  Sums out{{}, std::vector<Wide>(segment_.groups.size())};
  if (reader_ == nullptr) return out;
  const size_t stride = layout_.geometry().stride(), per_row = layout_.geometry().blocks_per_row();
  const std::vector<Scalar> slot = eq_table(r.first(segment_.slot_variables));
  const std::vector<Scalar> side = eq_table(r.subspan(segment_.slot_variables));
  std::mutex adding;
  for (size_t g = 0; g < segment_.groups.size(); ++g) {
    const size_t first = segment_.groups[g].first_row * per_row, count = segment_.groups[g].rows * per_row;
    pool.for_ranges((count + kSlotsAtOnce - 1) / kSlotsAtOnce, 1, [&](size_t begin, size_t end) {
      std::vector<int8_t> signs(kSlotsAtOnce * stride);
      std::vector<Scalar> weights(kSlotsAtOnce);
      Scalar sum;
      Wide squares;
      for (size_t part = begin; part < end; ++part) {
        const size_t from = first + part * kSlotsAtOnce, slots = std::min(kSlotsAtOnce, first + count - from);
        for (size_t b = 0; b < slots; ++b) {
          const auto of_slot = std::span(signs).subspan(b * stride, stride);
          const uint64_t magnitude = read(from + b, of_slot);
          const auto zeros = static_cast<size_t>(std::ranges::count(of_slot, int8_t{0}));
          squares += Wide(stride - zeros) * Wide::square_of(static_cast<int128>(magnitude));
          weights[b] = slot[from + b] * Scalar::from_u64(magnitude);
        }
        const std::vector<Scalar> folded = fold_columns(IntMatrix(signs.data(), slots, stride, stride), side, pool);
        for (size_t b = 0; b < slots; ++b) sum += weights[b] * folded[b];
      }
      const std::lock_guard lock(adding);
      out.at_r += sum;
      out.squares[g] += squares;
    });
  }
  return out;
}

GuideTable SegmentGuide::table(ThreadPool& pool) const {
  if (reader_ == nullptr) return {};
  GuideTable out(segment_);
  pool.for_ranges(segment_.rows.slots, 64, [&](size_t begin, size_t end) {
    for (size_t b = begin; b < end; ++b) out.set_magnitude(b, read(b, out.signs(b)));
  });
  return out;
}

}  // namespace zkapex
