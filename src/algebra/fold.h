// Sums of small integers with field weights: the passes that a prover makes over a large integer matrix.
//
// A weight's Montgomery form is cut into sixteen signed 16-bit digits; the matrix times the digits is an integer matrix
// product, exact in 64 bits, and only its result is put together and reduced mod l. Time depends on sizes and shapes
// alone, and no address on a value, except where a function says so.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/fold_kernels.h"
#include "algebra/scalar.h"
#include "base/cpu.h"
#include "base/threads.h"

namespace zkapex {

// A view of int8 or int16 entries in row-major order; `stride` is in entries, from a row to the next.
class IntMatrix {
 public:
  IntMatrix(const int8_t* entries, size_t rows, size_t cols, size_t stride)
      : entries_{entries, stride, rows, cols, false, fold_kernels::kNoBand} {}
  IntMatrix(const int16_t* entries, size_t rows, size_t cols, size_t stride)
      : entries_{entries, stride * sizeof(int16_t), rows, cols, true, fold_kernels::kNoBand} {}

  // The same view of a matrix that is zero above its diagonal: folds skip that half.
  [[nodiscard]] IntMatrix lower_triangle() const;

  [[nodiscard]] size_t rows() const { return entries_.rows; }
  [[nodiscard]] size_t cols() const { return entries_.cols; }
  [[nodiscard]] int at(size_t row, size_t col) const;
  // The part [row, row + rows) x [col, col + cols).
  [[nodiscard]] fold_kernels::Entries part(size_t row, size_t rows, size_t col, size_t cols) const;

 private:
  fold_kernels::Entries entries_;
};

// Those of `set`, which this machine must have: see detect_instruction_set.
[[nodiscard]] const fold_kernels::Kernels& fold_kernels_of(InstructionSet set);
[[nodiscard]] const fold_kernels::Kernels& native_fold_kernels();

// out[l] = sum over r of w_r M[r][l], for rows that arrive in batches. At most 2^32 rows between two calls of finish:
// a digit's sum is below 2^30 a row.
class RowFolder {
 public:
  // With `triangle` = S, a row holds S x S squares one after another, and all are zero above their diagonals; `first`:
  // where in such a row the folder's columns begin. Memory: 128 bytes a column.
  RowFolder(size_t cols, ThreadPool& pool, size_t triangle = 0, size_t first = 0,
            const fold_kernels::Kernels& kernels = native_fold_kernels());

  // One weight a row; rows.cols() is the folder's.
  void add(const IntMatrix& rows, std::span<const Scalar> weights);
  // The sums so far; the folder starts again from zero.
  [[nodiscard]] std::vector<Scalar> finish();

 private:
  [[nodiscard]] size_t live_columns(size_t first, size_t count) const;

  size_t cols_, triangle_, first_;
  ThreadPool& pool_;
  const fold_kernels::Kernels& kernels_;
  uint64_t rows_ = 0;            // added since the last finish
  std::vector<int64_t> sums_;    // as fold_kernels::Kernels::rows has them
  std::vector<int16_t> digits_;  // of a chunk of weights
};

// out[l] = sum over r of w_r M[r][l]
[[nodiscard]] std::vector<Scalar> fold_rows(const IntMatrix& matrix, std::span<const Scalar> weights, ThreadPool& pool,
                                            const fold_kernels::Kernels& kernels = native_fold_kernels());
// out[r] = sum over l of w_l M[r][l]
[[nodiscard]] std::vector<Scalar> fold_columns(const IntMatrix& matrix, std::span<const Scalar> weights,
                                               ThreadPool& pool,
                                               const fold_kernels::Kernels& kernels = native_fold_kernels());

// Both with integer weights, exactly; all sums |out| < 2^120. In the calling thread. The time shows whether all weights
// fit 62 bits.
void fold_rows_exact(const IntMatrix& matrix, std::span<const int128> weights, std::span<int128> out,
                     const fold_kernels::Kernels& kernels = native_fold_kernels());
void fold_columns_exact(const IntMatrix& matrix, std::span<const int128> weights, std::span<int128> out,
                        const fold_kernels::Kernels& kernels = native_fold_kernels());

// out[l] = sum over r of w_r V[r][l], V row-major with `cols` entries a row and one row a weight.
[[nodiscard]] std::vector<Scalar> fold_i64(std::span<const int64_t> values, size_t cols,
                                           std::span<const Scalar> weights, ThreadPool& pool);

// out[l] = sum over r of w_r bit(r, l). Row r is the `words_per_row` words from rows[r * words_per_row]; bit l of a row
// is bit l % 64 of its word l / 64; cols <= 64 words_per_row. Sums are looked up by eight bits at a time: what is read
// shows to who shares the cache.
[[nodiscard]] std::vector<Scalar> fold_bits(std::span<const uint64_t> rows, size_t words_per_row, size_t cols,
                                            std::span<const Scalar> weights, ThreadPool& pool);

}  // namespace zkapex
