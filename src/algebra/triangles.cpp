#include "algebra/triangles.h"

#include <algorithm>

#include "algebra/fold_digits.h"
#include "base/bits.h"

namespace zkapex {

using fold_kernels::kDigits;
using fold_kernels::kGroup;

namespace {

template <class Entry>
IntMatrix square_of(const Entry* from, size_t block, size_t side, std::vector<Entry>& room) {
  room.resize(side * side);
  for (size_t j = 0; j < block; ++j) {
    std::copy_n(from, j + 1, room.begin() + static_cast<ptrdiff_t>(j * side));
    from += j + 1;
  }
  return IntMatrix(room.data(), side, side, side).lower_triangle();
}

}  // namespace

IntMatrix TriangleSquare::matrix(const Triangle& triangle) {
  if (triangle.wide() != nullptr) return square_of(triangle.wide(), triangle.block(), side_, wide_);
  return square_of(triangle.narrow(), triangle.block(), side_, narrow_);
}

TriangleFolder::TriangleFolder(std::span<const Scalar> weights, ThreadPool& pool, const fold_kernels::Kernels& kernels)
    : weights_(weights.begin(), weights.end()), pool_(pool), kernels_(kernels) {
  if (kernels.triangle_rows == nullptr) return;
  digits_.resize(round_up(weights.size(), kGroup) * kDigits);
  for (size_t k = 0; k < weights.size(); ++k) {
    int16_t digits[kDigits];
    fold_digits::split(weights[k], digits);
    for (size_t d = 0; d < kDigits; ++d) digits_[2 * (k / 2 * kDigits + d) + k % 2] = digits[d];
  }
}

bool TriangleFolder::packed(const Triangle& triangle) const {
  return kernels_.triangle_rows != nullptr && triangle.narrow() != nullptr;
}

template <class Kernel>
void TriangleFolder::fold(const Kernel& kernel, const Triangle& triangle, const Scalar& factor,
                          std::span<Scalar> out) const {
  std::vector<int64_t> sums(round_up(triangle.block(), kGroup) * kDigits);
  kernel(triangle.narrow(), triangle.block(), digits_.data(), sums.data());
  fold_digits::join_groups(kernels_, sums, factor, out.first(triangle.block()));
  std::fill(out.begin() + static_cast<ptrdiff_t>(triangle.block()), out.end(), Scalar::zero());
}

void TriangleFolder::rows(const Triangle& triangle, const Scalar& factor, std::span<Scalar> out) const {
  ZKAPEX_BOUND(triangle.block() <= weights_.size() && out.size() == weights_.size());
  if (packed(triangle)) return fold(kernels_.triangle_rows, triangle, factor, out);
  TriangleSquare square(weights_.size());
  const std::vector<Scalar> folded = fold_rows(square.matrix(triangle), weights_, pool_, kernels_);
  for (size_t l = 0; l < out.size(); ++l) out[l] = factor * folded[l];
}

void TriangleFolder::columns(const Triangle& triangle, const Scalar& factor, std::span<Scalar> out) const {
  ZKAPEX_BOUND(triangle.block() <= weights_.size() && out.size() == weights_.size());
  if (packed(triangle)) return fold(kernels_.triangle_columns, triangle, factor, out);
  TriangleSquare square(weights_.size());
  const std::vector<Scalar> folded = fold_columns(square.matrix(triangle), weights_, pool_, kernels_);
  for (size_t j = 0; j < out.size(); ++j) out[j] = factor * folded[j];
}

}  // namespace zkapex
