// How rows of packed integers are read for a commitment: eight columns, a group, at a time, and strips of groups one
// after another. A row of a strip is a string of whole bytes: w bits of each entry, w bytes of each group.
//
// Of entries of eight bits a group may keep fewer: v = low + 2^w q with −2^(w−1) ≤ low < 2^(w−1), or low = 0 for w = 0.
// Where q ≠ 0, the multiple q 2^w of the column's generator is an exception, to be added by itself. Widths are chosen
// by a sample of the rows, so that look-ups and exceptions together cost least; the sums do not depend on them.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "algebra/row_commit.h"
#include "base/secret.h"

namespace zkapex {

inline constexpr size_t kGroupColumns = 8;

struct Strip {
  size_t first_group = 0, groups = 0;
};

class RowStrips {
 public:
  // Of about `chunks` chunks of `chunk_bits` bits each. Which widths pay depends on what a bit and an exception cost.
  struct Costs {
    double bit, exception;
  };
  RowStrips(const PackedRows& rows, unsigned chunk_bits, size_t chunks, const Costs& costs);

  [[nodiscard]] const PackedRows& rows() const { return rows_; }
  [[nodiscard]] const std::vector<Strip>& strips() const { return strips_; }
  [[nodiscard]] std::span<const uint8_t> widths(const Strip& strip) const {
    return std::span(widths_).subspan(strip.first_group, strip.groups);
  }

 private:
  void choose_widths(const Costs& costs);
  void cut(unsigned chunk_bits, size_t chunks);

  PackedRows rows_;
  std::vector<uint8_t> widths_;  // of groups
  std::vector<Strip> strips_;
};

// An exception of a row: the multiple q of 2^w times the generator of a column of the strip.
struct RowException {
  uint16_t column;
  int16_t multiple;
};

// Reads eight rows of a strip at a time.
class StripReader {
 public:
  static constexpr size_t kRows = 8;
  // Exceptions are found in strips of no more columns than this.
  static constexpr size_t kMostNarrowGroups = 16;

  StripReader(const PackedRows& rows, const Strip& strip, std::span<const uint8_t> widths);

  // Rows from `first` on; those past the last are zero.
  void read(size_t first);
  // The string of one of them, with zeros behind it.
  [[nodiscard]] const uint8_t* row(size_t lane) const { return &staged_[lane * stride_]; }
  [[nodiscard]] size_t stride() const { return stride_; }  // from one to the next
  [[nodiscard]] std::span<const RowException> exceptions(size_t lane) const {
    return std::span<const RowException>(&exceptions_[lane * kMostExceptions], found_[lane]);
  }

 private:
  static constexpr size_t kMostExceptions = kGroupColumns * kMostNarrowGroups;  // of a row

  void read_narrow(size_t first, size_t count);

  PackedRows rows_;
  Strip strip_;
  std::span<const uint8_t> widths_;
  bool narrow_;
  size_t stride_;
  SecretVector<uint8_t> staged_;
  SecretVector<RowException> exceptions_{kRows * kMostExceptions};
  std::array<size_t, kRows> found_{};
};

}  // namespace zkapex
