// A run of Fisher blocks of one weight, as gradients come in.
#pragma once

#include "learning/tensor.h"

namespace zkapex {

class BlockAccumulator {
 public:
  // Entries [first_block · B, …) of a weight with `entries` entries in rows of `columns`.
  BlockAccumulator(int64_t first_block, int64_t blocks, int64_t block, int64_t entries, int64_t columns,
                   int64_t pending, const at::TensorOptions& placed);

  // The rows of the weight that these blocks touch.
  [[nodiscard]] int64_t row() const { return row_; }
  [[nodiscard]] int64_t rows() const { return rows_; }
  [[nodiscard]] int64_t room() const { return waiting_.size(1) - filled_; }  // samples until the next flush
  [[nodiscard]] double flops() const { return flops_; }

  // Gradients of samples, [n, rows, columns] with n ≤ room(). Flushes when full.
  void add(const Tensor& gradients);
  // (1/samples) Σ g gᵀ of all that was added, [blocks, B, B], symmetric.
  [[nodiscard]] Tensor finish(int64_t samples);

 private:
  void flush();

  int64_t block_, row_, rows_, offset_, length_;  // offset of the first entry in the first row; entries that exist
  Tensor waiting_;                                // [blocks, pending, B], zero behind `length_`
  Tensor sums_;                                   // [blocks, B, B], the lower triangles
  int64_t filled_ = 0;
  double flops_ = 0;
};

}  // namespace zkapex
