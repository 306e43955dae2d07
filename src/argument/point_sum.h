// Everything a verifier has to check ends here: a sum of known multiples of points that must be the identity. Sums of
// several proofs are added with random weights and settled by one multi-scalar multiplication.
#pragma once

#include <vector>

#include "algebra/scalar.h"
#include "argument/generators.h"

namespace zkapex {

// Coefficients of the first generators as an inner product folds them: that of generator i is `first` times the product
// of the factors at the bits of i that are set, factors[0] at the highest. Kept as two short tables.
class FoldedWeights {
 public:
  static constexpr size_t kBlock = 128;

  // `size` is at most 2^factors.
  FoldedWeights(const Scalar& first, std::span<const Scalar> factors, size_t size);

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] Scalar operator[](size_t i) const { return of_block_[i / kBlock] * inside_[i % kBlock]; }
  // Coefficient kBlock · b + k is of_block()[b] · inside()[k].
  [[nodiscard]] std::span<const Scalar> of_block() const { return of_block_; }
  [[nodiscard]] std::span<const Scalar> inside() const { return inside_; }

 private:
  size_t size_;
  std::vector<Scalar> of_block_, inside_;
};

class PointSum {
 public:
  void add_generator(size_t index, const Scalar& coefficient);
  void add_generators(FoldedWeights coefficients);                            // of the first ones
  void add_blinding(const Scalar& coefficient) { blinding_ += coefficient; }  // a multiple of h
  void add_value(const Scalar& coefficient) { value_ += coefficient; }        // a multiple of q
  void add(const AffinePoint& point, const Scalar& coefficient);
  void reserve(size_t points);  // so many are going to be added

  [[nodiscard]] size_t generators() const { return generators_; }  // one more than the largest index used

  // Whether Σ weights[k] · sums[k] is the identity; a weight for each. generators.size() is at least generators() of
  // every sum.
  [[nodiscard]] static bool cancel_var(std::span<const PointSum> sums, std::span<const Scalar> weights,
                                       const Generators& generators, ThreadPool& pool);

 private:
  // Of all sums together, the coefficients of FoldedWeights::kBlock generators, or of as many as `out` has.
  static void add_up_block(std::span<const PointSum> sums, std::span<const Scalar> weights, size_t block,
                           std::span<Scalar> out);

  size_t generators_ = 0;
  std::vector<std::pair<size_t, Scalar>> generator_;  // one by one
  std::vector<FoldedWeights> folded_;
  Scalar blinding_, value_;
  std::vector<AffinePoint> points_;
  std::vector<Scalar> coefficients_;
};

}  // namespace zkapex
