// How a budget of memory is divided among what proving and verifying hold at a time. A half is for the tables of one
// segment, or unit; the rest for what is committed together, and for what stays in memory from beginning to end.
#pragma once

#include "weights/layout.h"

namespace zkapex {

class MemoryPlan {
 public:
  MemoryPlan(const Layout& layout, uint64_t budget) : row_(layout.geometry().row), budget_(budget) {}

  // Covered rows that are proved together, and curvature rows of a certificate: powers of two.
  [[nodiscard]] uint64_t rows_per_segment() const;
  [[nodiscard]] uint64_t curvature_rows_per_unit() const;
  // Bytes of bit rows that are committed together.
  [[nodiscard]] uint64_t registration_bits() const { return budget_ / 2; }
  [[nodiscard]] uint64_t window_bits() const { return budget_ / 6; }

 private:
  [[nodiscard]] uint64_t rows_in_half(uint64_t bytes_per_position) const;

  uint64_t row_, budget_;
};

}  // namespace zkapex
