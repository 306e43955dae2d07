// Bulk commitment: many rows of small integers over one list of generators, C_r = Σ_l v[r][l] g[l] (+ b_r h).
//
// A row of n entries of c bits, two's complement, is a string of n·c bits, and C_r the sum of those points of the
// expanded basis g, 2g, …, 2^(c−2) g, −2^(c−1) g (for every generator g in turn) whose bit is set. The string is cut
// into chunks of t bits. A chunk's 2^t subset sums, or half of them, since those of an index and of its complement lie
// opposite, are tabulated once, then every row takes one look-up and one addition per chunk. Chunks that are zero in
// all rows cost nothing but reading them; t grows with the number of rows. Of many rows of bytes, columns whose entries
// are mostly small keep fewer bits, and entries that do not fit are completed by an addition of their own
// (row_strips.h). Few rows go through buckets.
//
// Variable time: the running time tells how many chunks of a row are zero, and, summed over columns and rows, how many
// entries do not fit the widths that a sample of the rows has chosen.
//
// Memory beside input and output: rows are taken in batches of 2^16, for which each thread holds sums (10.5 MiB),
// indices (2 MiB; 2 bytes for eleven bits of the strip at hand where a sample misled), exceptions (at most half a byte
// an entry of that strip) and tables (about 1 MiB).
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/group_kernels.h"
#include "algebra/point.h"
#include "algebra/scalar.h"
#include "base/result.h"
#include "base/threads.h"

namespace zkapex {

inline constexpr unsigned kMaxEntryBits = 16;

// A view of rows of `entries` integers of `bits` bits each, packed least significant bit first from the first byte of
// the row on; entries may straddle bytes. Two's complement for 2 ≤ bits ≤ 16; with bits = 1 an entry is 0 or +1.
struct PackedRows {
  const uint8_t* data = nullptr;
  size_t rows = 0;
  size_t row_stride_bytes = 0;
  size_t entries = 0;
  unsigned bits = 8;

  [[nodiscard]] size_t row_bits() const { return entries * bits; }
  [[nodiscard]] size_t row_bytes() const { return (row_bits() + 7) / 8; }
  [[nodiscard]] const uint8_t* row(size_t r) const { return data + r * row_stride_bytes; }
  // Entry l of row r as an integer.
  [[nodiscard]] int32_t at(size_t r, size_t l) const;
};

// Packed rows that own their bytes.
struct PackedMatrix {
  std::vector<uint8_t> bytes;
  size_t rows = 0;
  size_t entries = 0;
  unsigned bits = 8;

  [[nodiscard]] PackedRows view() const;
};

// values.size() / entries rows of `entries` integers. An error if an integer does not fit in `bits` bits (0 or 1 for
// bits = 1), if `bits` is not between 1 and 16, or if the values do not fill whole rows.
[[nodiscard]] Result<PackedMatrix> pack_rows(std::span<const int16_t> values, size_t entries, unsigned bits);
[[nodiscard]] Result<PackedMatrix> pack_rows(std::span<const int8_t> values, size_t entries, unsigned bits);
// Bytes are packed rows of 8-bit entries as they are.
[[nodiscard]] Result<PackedRows> view_rows(std::span<const int8_t> values, size_t entries);

// One commitment per row. An error if there are fewer generators than entries, or if the view is malformed.
[[nodiscard]] Result<std::vector<Point>> commit_rows_var(std::span<const AffinePoint> generators,
                                                         const PackedRows& rows, ThreadPool& pool,
                                                         const GroupKernels& kernels = group_kernels());

// The base of blindings, with its multiples h, 2h, 4h, …, 2^252 h: a blinding is a row of 253 bits over them.
class BlindingBase {
 public:
  explicit BlindingBase(const Point& h);
  [[nodiscard]] const Point& point() const { return h_; }
  // b·h for each blinding b.
  [[nodiscard]] std::vector<Point> multiply_var(std::span<const Scalar> blindings, ThreadPool& pool,
                                                const GroupKernels& kernels = group_kernels()) const;

 private:
  Point h_;
  std::vector<AffinePoint> powers_;
};

// Row r blinded by blindings[r]·h. An error also if there is not one blinding per row.
[[nodiscard]] Result<std::vector<Point>> commit_rows_var(std::span<const AffinePoint> generators,
                                                         const PackedRows& rows, const BlindingBase& base,
                                                         std::span<const Scalar> blindings, ThreadPool& pool,
                                                         const GroupKernels& kernels = group_kernels());

}  // namespace zkapex
