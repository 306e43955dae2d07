// Integers as bit planes. Rows of integers are cut into segments; a segment holds plane after plane, plane k being bit
// k of its rows. Bits are packed as both the bulk commitment and the fold of bits read them: row-major, least
// significant bit first, whole 64-bit words a row.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/row_commit.h"
#include "base/threads.h"

namespace zkapex {

class BitMatrix {
 public:
  // `words`: the integers, whole rows of `row_length`; `segments`: how many rows each has.
  BitMatrix(std::span<const uint64_t> words, size_t row_length, unsigned planes, std::span<const size_t> segments,
            ThreadPool& pool);

  // All bits zero, to be filled segment by segment.
  BitMatrix(size_t row_length, unsigned planes, std::span<const size_t> segments);
  // Rows from `first_row` of the segment on; `words` is whole rows.
  void fill(size_t segment, size_t first_row, std::span<const uint64_t> words, ThreadPool& pool);
  // The integers of a segment again; bits from `planes` on are zero.
  [[nodiscard]] std::vector<uint64_t> integers(size_t segment, ThreadPool& pool) const;

  // The planes of a segment as a sumcheck reads them: all its rows one after another, eight entries to a byte.
  [[nodiscard]] std::vector<std::vector<uint8_t>> planes(size_t segment) const;

  [[nodiscard]] size_t rows() const { return bits_.size() / words_per_row_; }  // bit rows of all segments
  [[nodiscard]] size_t words_per_row() const { return words_per_row_; }
  // The bit rows of a segment: row k · (its rows) + t is plane k of row t.
  [[nodiscard]] std::span<const uint64_t> segment(size_t index) const;
  [[nodiscard]] size_t first_row(size_t segment) const { return first_row_[segment]; }
  [[nodiscard]] PackedRows packed() const;

 private:
  size_t row_length_, words_per_row_;
  unsigned planes_;
  std::vector<size_t> first_row_;  // of each segment, and the end
  std::vector<uint64_t> bits_;
};

// What turns the bits of a two's complement integer into its value: 1, 2, 4, .., −2^(bits−1).
[[nodiscard]] std::vector<Scalar> sign_weights(unsigned bits);

// In place: bit j of block[k] becomes bit k of block[j].
void transpose_64(uint64_t (&block)[64]);

}  // namespace zkapex
