// Segments: consecutive covered rows that are proved together. The cut is public; it is made for a memory budget and
// anyone checks that it covers every row once.
#pragma once

#include <vector>

#include "weights/layout.h"

namespace zkapex {

// Rows of each segment, in order.
using Segmentation = std::vector<uint64_t>;

// At most `rows_per_segment` rows each, and as equal as they can be.
[[nodiscard]] Segmentation cut_rows(uint64_t rows, uint64_t rows_per_segment);

// A run of blocks of one tensor inside a segment, numbered from the segment's first slot: `full_blocks` blocks with B
// real coordinates each, or (full_blocks = 0) one with `rest` of them.
struct SegmentPiece {
  uint64_t first_slot = 0, full_blocks = 0, rest = 0;
  bool operator==(const SegmentPiece&) const = default;
};

struct Segment {
  uint64_t index = 0;
  uint64_t first_row = 0, rows = 0;    // of the model
  uint64_t first_slot = 0, slots = 0;  // every slot of a committed row counts, with weights or without
  std::vector<SegmentPiece> pieces;
};

// Refused unless every part is positive and they add up to the layout's rows.
[[nodiscard]] Result<std::vector<Segment>> make_segments(const Layout& layout, const Segmentation& segmentation);

}  // namespace zkapex
