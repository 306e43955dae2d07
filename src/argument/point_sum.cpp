#include "argument/point_sum.h"

#include <algorithm>

#include "algebra/msm.h"

namespace zkapex {

void PointSum::add_generator(size_t index, const Scalar& coefficient) {
  if (index >= generator_.size()) generator_.resize(index + 1);
  generator_[index] += coefficient;
}

void PointSum::add(const Point& point, const Scalar& coefficient) {
  points_.push_back(point);
  coefficients_.push_back(coefficient);
}

void PointSum::reserve(size_t points) {
  points_.reserve(points);
  coefficients_.reserve(points);
}

void PointSum::add_scaled(const PointSum& other, const Scalar& weight) {
  generator_.resize(std::max(generator_.size(), other.generator_.size()));
  for (size_t k = 0; k < other.generator_.size(); ++k) generator_[k] += weight * other.generator_[k];
  blinding_ += weight * other.blinding_;
  value_ += weight * other.value_;
  points_.insert(points_.end(), other.points_.begin(), other.points_.end());
  for (const Scalar& c : other.coefficients_) coefficients_.push_back(weight * c);
}

bool PointSum::is_identity_var(const Generators& generators, ThreadPool& pool) const {
  const Point own[] = {generators.blinding(), generators.value()};
  const std::vector<AffinePoint> two = batch_to_affine(own), others = batch_to_affine(points_, &pool);
  const std::span<const AffinePoint> lists[] = {generators.positions().first(generator_.size()), others, two};
  const PreparedPoints bases(lists, pool);
  std::vector<Scalar> scalars;
  scalars.reserve(bases.size());
  scalars.insert(scalars.end(), generator_.begin(), generator_.end());
  scalars.insert(scalars.end(), coefficients_.begin(), coefficients_.end());
  scalars.insert(scalars.end(), {blinding_, value_});
  return msm_var(scalars, bases, pool).value().is_identity();
}

}  // namespace zkapex
