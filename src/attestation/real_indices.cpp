#include "attestation/real_indices.h"

#include <algorithm>

namespace zkapex {

std::vector<uint8_t> real_indices(const Geometry& geometry, const Segment& segment) {
  std::vector<uint8_t> out(segment.rows * geometry.row);
  for (const SegmentPiece& piece : segment.pieces) {
    const uint64_t blocks = std::max<uint64_t>(piece.full_blocks, 1),
                   count = piece.rest != 0 ? piece.rest : geometry.block;
    for (uint64_t b = piece.first_slot; b < piece.first_slot + blocks; ++b) {
      std::fill_n(out.begin() + static_cast<ptrdiff_t>(b * geometry.stride()), count, uint8_t{1});
    }
  }
  return out;
}

std::vector<uint8_t> free_indices(const Geometry& geometry, const Segment& segment, std::span<const uint32_t> masked) {
  std::vector<uint8_t> out = real_indices(geometry, segment);
  for (const uint32_t i : masked) out[i] = 0;
  return out;
}

}  // namespace zkapex
