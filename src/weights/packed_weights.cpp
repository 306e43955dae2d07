#include "weights/packed_weights.h"

#include <algorithm>

namespace zkapex {

void pack_weights(std::span<const int64_t> weights, unsigned width, uint8_t* out) {
  const size_t bytes = packed_bytes(width);
  for (const int64_t v : weights) {
    for (size_t k = 0; k < bytes; ++k) *out++ = static_cast<uint8_t>(static_cast<uint64_t>(v) >> (8 * k));
  }
}

void unpack_weights(const uint8_t* in, unsigned width, std::span<int64_t> weights) {
  const size_t bytes = packed_bytes(width);
  const auto shift = static_cast<unsigned>(64 - 8 * bytes) % 64;  // bytes ≥ 1
  for (int64_t& v : weights) {
    uint64_t word = 0;
    for (size_t k = 0; k < bytes; ++k) word |= static_cast<uint64_t>(*in++) << (8 * k);
    v = static_cast<int64_t>(word << shift) >> shift;
  }
}

Status read_rows(const Layout& layout, uint64_t first_row, std::span<int64_t> out, const CoordinateReader& read) {
  const uint64_t stride = layout.geometry().stride(), first_slot = first_row * layout.geometry().blocks_per_row();
  std::fill(out.begin(), out.end(), 0);
  const uint64_t slots = out.size() / stride, per_row = layout.geometry().blocks_per_row();
  for (uint64_t k = 0; k < slots;) {
    const std::optional<uint64_t> index = layout.block_in_slot(first_slot + k);
    if (!index) {
      ++k;
      continue;
    }
    const Layout::Block block = layout.block(*index);
    uint64_t count = block.count, next = k + 1;
    // Where blocks leave no gaps, those of a row are consecutive coordinates: read together.
    for (; next % per_row != 0 && count == (next - k) * stride; ++next) {
      const std::optional<uint64_t> more = layout.block_in_slot(first_slot + next);
      if (!more) break;
      count += layout.block(*more).count;
    }
    ZKAPEX_CHECK(read(block.first_coordinate, out.subspan(k * stride, count)));
    k = next;
  }
  return Done{};
}

}  // namespace zkapex
