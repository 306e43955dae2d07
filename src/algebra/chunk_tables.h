// Tables of subset sums, by which rows of bits are committed to: how large they are, and which entry a chunk of bits
// looks up.
#pragma once

#include <cstdint>

#include "algebra/group_kernels.h"

namespace zkapex {

// A table of 2^b sums serves chunks of b bits. Or of b + 1: with c the sum of all points of a chunk, the subset sums of
// an index and of its complement are c/2 + x and c/2 − x, so x is tabulated for half of the indices, and the c/2, the
// same for all rows, are added at the end. Halving a point costs as much as some 120 entries.
class ChunkTables {
 public:
  static constexpr unsigned kLeastBits = 3, kMostBits = 11;
  // Relative costs, measured: a table entry (an addition, its share of the inversion), half of a point, a look-up with
  // its addition.
  static constexpr double kEntryCost = 72, kHalfCost = 8600, kLookupCost = 35;

  explicit ChunkTables(unsigned bits) : bits_(bits) {}
  static ChunkTables choose(size_t rows) {
    ChunkTables best(kLeastBits);
    for (unsigned b = kLeastBits + 1; b <= kMostBits; ++b) {
      if (ChunkTables(b).cost_per_row_bit(rows) < best.cost_per_row_bit(rows)) best = ChunkTables(b);
    }
    return best;
  }

  [[nodiscard]] bool is_signed() const { return bits_ >= 8; }
  [[nodiscard]] unsigned bits() const { return bits_; }
  [[nodiscard]] size_t size() const { return size_t{1} << bits_; }
  [[nodiscard]] unsigned chunk_bits() const { return bits_ + (is_signed() ? 1 : 0); }
  [[nodiscard]] double cost_per_row_bit(size_t rows) const {
    const double once = static_cast<double>(size()) * kEntryCost + (is_signed() ? kHalfCost : 0);
    return (once / static_cast<double>(rows) + kLookupCost) / chunk_bits();
  }
  // Which entry a chunk looks up, with its sign.
  [[nodiscard]] uint16_t index(uint32_t chunk) const {
    if (!is_signed()) return static_cast<uint16_t>(chunk);
    const uint32_t opposite = (chunk >> bits_) - 1;  // all ones where the highest bit is not set
    return static_cast<uint16_t>(((chunk ^ opposite) & (size() - 1)) | (opposite & ~uint32_t{kIndexMask}));
  }

 private:
  unsigned bits_;
};

}  // namespace zkapex
