#include "parties/memory_plan.h"

#include <algorithm>
#include <bit>

namespace zkapex {

// A segment's sumchecks hold about 200 bytes an index.
uint64_t MemoryPlan::rows_per_segment() const { return rows_in_half(200); }

// Packed bits, their planes, and tables a 64th as long.
uint64_t MemoryPlan::curvature_rows_per_unit() const { return rows_in_half(8); }

uint64_t MemoryPlan::rows_in_half(uint64_t bytes_per_position) const {
  constexpr uint64_t kMost = uint64_t{1} << 30;
  return std::bit_floor(std::clamp<uint64_t>(budget_ / 2 / (bytes_per_position * row_), 1, kMost));
}

}  // namespace zkapex
