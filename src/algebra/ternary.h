// A matrix of 0, +1 and −1, and its exact products with vectors of bytes.
#pragma once

#include <functional>

#include "algebra/scalar.h"
#include "algebra/ternary_kernels.h"
#include "base/bytes.h"
#include "base/threads.h"
#include "base/unset_vector.h"

namespace zkapex {

// The product for this CPU.
[[nodiscard]] ternary_kernels::Multiply native_ternary_multiply();

class TernaryMatrix {
 public:
  // Two bits an entry, row by row, the low bits of a byte first: 0 and 1 mean 0, 2 means +1, 3 means −1. As many bits
  // as there are entries; cols is at most 2^16.
  TernaryMatrix(size_t rows, size_t cols, ByteView bits);
  // The same with bits that come piece by piece: each call gives some more.
  TernaryMatrix(size_t rows, size_t cols, const std::function<ByteView()>& more);

  [[nodiscard]] size_t rows() const { return rows_; }
  [[nodiscard]] size_t cols() const { return cols_; }
  [[nodiscard]] int at(size_t row, size_t col) const { return entries_[row * padded_ + col] - 1; }

  // Σ_q weights[q] M[q][l] for every column l; a weight for each row.
  [[nodiscard]] std::vector<Scalar> fold(std::span<const Scalar> weights, ThreadPool& pool) const;

  // Vectors of cols() bytes, `stride` bytes apart. `live`: the first columns of those groups of 32 in which some vector
  // is not zero; empty stands for all.
  struct Vectors {
    const int8_t* entries = nullptr;
    size_t count = 0, stride = 0;
    std::span<const uint32_t> live = {};
  };
  // out[k · rows() + q] = Σ_l M[q][l] v_k[l]. Which addresses are read depends on sizes and `live` alone.
  void multiply(const Vectors& vectors, std::span<int32_t> out, ThreadPool& pool,
                ternary_kernels::Multiply kernel = native_ternary_multiply()) const;

 private:
  size_t rows_, cols_;
  size_t padded_;                 // columns up to whole groups
  UnsetVector<uint8_t> entries_;  // plus one
  std::vector<uint32_t> groups_;  // first columns of all of them
};

}  // namespace zkapex
