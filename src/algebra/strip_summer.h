// Sums over strips of rows (row_strips.h), by tables of subset sums, for one batch of rows.
#pragma once

#include "algebra/chunk_tables.h"
#include "algebra/row_strips.h"

namespace zkapex {

class StripSummer {
 public:
  StripSummer(std::span<const AffinePoint> generators, const RowStrips& strips, ChunkTables chunks, ThreadPool& pool,
              const GroupKernels& kernels);

  // What an exception costs, of eight rows the one with the most, where a look-up costs ChunkTables::kLookupCost.
  static constexpr double kExceptionCost = 70;

  void add(const Strip& strip);
  [[nodiscard]] std::vector<ExtendedPoint> sums();

 private:
  // Between columns of indices: a cache line more than the rows, or columns of 2^16 rows would share cache sets.
  [[nodiscard]] size_t stride() const { return 8 * octets_ + 32; }
  // Fills one column of indices per chunk that is not zero in all rows; these chunks are `active_`. False if there are
  // more exceptions than an eighth of the entries.
  bool extract(const Strip& strip);
  void prefetch_rows(size_t first, const Strip& strip) const;
  // out[i] = what chunk k of row i looks up; returns the bits that occur.
  uint32_t cut_chunk(const StripReader& reader, size_t k, uint16_t* out) const;
  // Eight rows' exceptions side by side: as many octets as the row with the most has. Returns how many there are.
  size_t note_exceptions(const StripReader& reader, size_t octet);
  // The points whose bits a row of the strip has: g, 2g, …, −2^(w−1) g for every generator g in turn, from bit `first`
  // on; past the end of the row, the identity.
  void append_basis(const Strip& strip, size_t first, size_t count, std::vector<Point>& out) const;
  std::vector<TableEntry> entries_of(std::span<const Point> points) const;
  void build_tables(const TableEntry* basis, const TableEntry* origins, size_t tables, unsigned bits, TableEntry* out);
  void add_chunks(const Strip& strip);
  // Of each chunk's points: the last one less c/2, where its table begins. The halves go to the offset of all rows.
  std::vector<Point> take_halves(std::span<const Point> points);
  // A table of multiples for each column that has exceptions, columns with as many multiples together.
  void add_exceptions(const Strip& strip);

  std::span<const AffinePoint> generators_;
  const RowStrips& strips_;
  PackedRows rows_;
  ThreadPool& pool_;
  const GroupKernels& kernels_;
  ChunkTables chunk_tables_;
  unsigned chunk_bits_;
  size_t octets_;
  std::vector<PointOctet> sums_, scratch_;
  Point offset_;  // that is missing in all rows
  std::vector<TableEntry> tables_;
  // Of the strip at hand:
  std::vector<uint8_t> widths_;
  std::vector<uint32_t> seen_;                                // bits of each chunk that occur
  std::vector<size_t> active_;                                // chunks that are not zero in all rows
  std::vector<uint16_t, WipingAllocator<uint16_t>> indices_;  // a column of stride() rows per chunk; then of exceptions
  std::vector<RowException, WipingAllocator<RowException>> exceptions_;
  std::vector<uint16_t> deepest_;  // octets of exceptions that each octet of rows has
};

}  // namespace zkapex
