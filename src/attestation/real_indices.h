// Which indices of a segment carry a weight, and which of those are outside a mask.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "weights/segments.h"

namespace zkapex {

// 1 where there is a weight, 0 on padding.
[[nodiscard]] std::vector<uint8_t> real_indices(const Geometry& geometry, const Segment& segment);
// The same with the masked indices set to 0: u.
[[nodiscard]] std::vector<uint8_t> free_indices(const Geometry& geometry, const Segment& segment,
                                                std::span<const uint32_t> masked);

}  // namespace zkapex
