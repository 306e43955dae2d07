#include "parties/memory_plan.h"

#include <algorithm>
#include <bit>

namespace zkapex {

uint64_t MemoryPlan::rows_per_segment() const {
  constexpr uint64_t kBytesPerIndex = 200;  // of a segment's sumchecks, about
  constexpr uint64_t kMost = uint64_t{1} << 30;
  return std::bit_floor(std::clamp<uint64_t>(budget_ / 2 / (kBytesPerIndex * row_), 1, kMost));
}

}  // namespace zkapex
