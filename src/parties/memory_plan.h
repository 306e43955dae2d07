// How a budget of memory is divided among what proving and verifying hold at a time: what stays in memory from
// beginning to end comes off first, and the rest is for the tables of one segment, or for what is committed together.
#pragma once

#include "weights/layout.h"

namespace zkapex {

class MemoryPlan {
 public:
  MemoryPlan(const Layout& layout, uint64_t budget) : row_(layout.geometry().row), budget_(budget) {}

  // Covered rows that are proved together: a power of two. A guide takes memory of its own.
  [[nodiscard]] uint64_t rows_per_segment(bool guided) const;
  // Bytes of the curvature that are committed together.
  [[nodiscard]] uint64_t registration_batch() const { return budget_ / 4; }

 private:
  uint64_t row_, budget_;
};

}  // namespace zkapex
