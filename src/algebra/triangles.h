// Lower triangles of small integers, as the curvature is made of: packed row after row, row j with the entries L[j, 0]
// .. L[j, j]. They are folded as they are packed where the kernels can, as squares elsewhere.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algebra/fold.h"

namespace zkapex {

// A view of a triangle of `block` rows.
class Triangle {
 public:
  Triangle(const int8_t* entries, size_t block) : narrow_(entries), block_(block) {}
  Triangle(const int16_t* entries, size_t block) : wide_(entries), block_(block) {}

  [[nodiscard]] size_t block() const { return block_; }
  [[nodiscard]] const int8_t* narrow() const { return narrow_; }  // one of the two, the other is null
  [[nodiscard]] const int16_t* wide() const { return wide_; }

 private:
  const int8_t* narrow_ = nullptr;
  const int16_t* wide_ = nullptr;
  size_t block_;
};

// Room for the square around a triangle, zero above the diagonal and from row and column `block` on. All triangles that
// it is used for have as many rows.
class TriangleSquare {
 public:
  explicit TriangleSquare(size_t side) : side_(side) {}
  // Until the next call.
  [[nodiscard]] IntMatrix matrix(const Triangle& triangle);

 private:
  size_t side_;
  std::vector<int8_t> narrow_;
  std::vector<int16_t> wide_;
};

// Folds of many triangles with the same weights, which are cut into digits once.
class TriangleFolder {
 public:
  TriangleFolder(std::span<const Scalar> weights, ThreadPool& pool,
                 const fold_kernels::Kernels& kernels = native_fold_kernels());

  // Of the square around a triangle that has as many rows as there are weights, from any thread:
  // out[l] = factor · Σ_j w_j L[j, l]
  void rows(const Triangle& triangle, const Scalar& factor, std::span<Scalar> out) const;
  // out[j] = factor · Σ_l w_l L[j, l]
  void columns(const Triangle& triangle, const Scalar& factor, std::span<Scalar> out) const;

 private:
  [[nodiscard]] bool packed(const Triangle& triangle) const;
  template <class Kernel>
  void fold(const Kernel& kernel, const Triangle& triangle, const Scalar& factor, std::span<Scalar> out) const;

  std::vector<Scalar> weights_;
  std::vector<int16_t> digits_;  // as triangle kernels have them
  ThreadPool& pool_;
  const fold_kernels::Kernels& kernels_;
};

}  // namespace zkapex
