// Everything a verifier has to check ends here: a sum of known multiples of points that must be the identity. Sums of
// several proofs are added with random weights and settled by one multi-scalar multiplication.
#pragma once

#include <vector>

#include "algebra/scalar.h"
#include "argument/generators.h"

namespace zkapex {

class PointSum {
 public:
  void add_generator(size_t index, const Scalar& coefficient);
  void add_generators(std::span<const Scalar> coefficients);                  // of the first ones
  void add_blinding(const Scalar& coefficient) { blinding_ += coefficient; }  // a multiple of h
  void add_value(const Scalar& coefficient) { value_ += coefficient; }        // a multiple of q
  void add(const AffinePoint& point, const Scalar& coefficient);
  void reserve(size_t points);  // so many are going to be added

  [[nodiscard]] size_t generators() const { return generator_.size(); }  // one more than the largest index used

  // Whether Σ weights[k] · sums[k] is the identity; a weight for each. generators.size() is at least generators() of
  // every sum.
  [[nodiscard]] static bool cancel_var(std::span<const PointSum> sums, std::span<const Scalar> weights,
                                       const Generators& generators, ThreadPool& pool);

 private:
  std::vector<Scalar> generator_;  // by index
  Scalar blinding_, value_;
  std::vector<AffinePoint> points_;
  std::vector<Scalar> coefficients_;
};

}  // namespace zkapex
