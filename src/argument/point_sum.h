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
  void add_blinding(const Scalar& coefficient) { blinding_ += coefficient; }  // a multiple of h
  void add_value(const Scalar& coefficient) { value_ += coefficient; }        // a multiple of q
  void add(const Point& point, const Scalar& coefficient);
  void reserve(size_t points);  // so many are going to be added

  // this += weight · other
  void add_scaled(const PointSum& other, const Scalar& weight);
  [[nodiscard]] size_t generators() const { return generator_.size(); }  // one more than the largest index used
  // generators.size() is at least generators().
  [[nodiscard]] bool is_identity_var(const Generators& generators, ThreadPool& pool) const;

 private:
  std::vector<Scalar> generator_;  // by index
  Scalar blinding_, value_;
  std::vector<Point> points_;
  std::vector<Scalar> coefficients_;
};

}  // namespace zkapex
