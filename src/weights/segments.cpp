#include "weights/segments.h"

#include <algorithm>

namespace zkapex {

Segmentation cut_rows(uint64_t rows, uint64_t rows_per_segment) {
  const uint64_t most = std::max<uint64_t>(rows_per_segment, 1);
  const uint64_t parts = (rows + most - 1) / most;
  Segmentation out;
  for (uint64_t k = 0; k < parts; ++k) out.push_back(rows * (k + 1) / parts - rows * k / parts);
  return out;
}

Result<std::vector<Segment>> make_segments(const Layout& layout, const Segmentation& segmentation) {
  const uint64_t per_row = layout.geometry().blocks_per_row();
  std::vector<Segment> out;
  uint64_t row = 0;
  for (const uint64_t rows : segmentation) {
    if (rows == 0 || rows > layout.rows() - row) return error("the segmentation does not cover every row once");
    Segment segment{.index = out.size(),
                    .first_row = row,
                    .rows = rows,
                    .first_slot = row * per_row,
                    .slots = rows * per_row,
                    .pieces = {}};
    const uint64_t begin = segment.first_slot, end = begin + segment.slots;
    for (const size_t k : layout.covered()) {
      const LayoutTensor& t = layout.tensors()[k];
      const uint64_t full_end = t.first_slot + t.full_blocks;
      const uint64_t low = std::max(t.first_slot, begin), high = std::min(full_end, end);
      if (low < high) segment.pieces.push_back({low - begin, high - low, 0});
      if (t.rest > 0 && full_end >= begin && full_end < end) segment.pieces.push_back({full_end - begin, 0, t.rest});
    }
    out.push_back(std::move(segment));
    row += rows;
  }
  if (row != layout.rows()) return error("the segmentation does not cover every row once");
  return out;
}

}  // namespace zkapex
