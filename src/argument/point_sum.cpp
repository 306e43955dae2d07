#include "argument/point_sum.h"

#include <algorithm>

#include "algebra/msm.h"

namespace zkapex {

void PointSum::add_generator(size_t index, const Scalar& coefficient) {
  if (index >= generator_.size()) generator_.resize(index + 1);
  generator_[index] += coefficient;
}

void PointSum::add_generators(std::span<const Scalar> coefficients) {
  generator_.resize(std::max(generator_.size(), coefficients.size()));
  for (size_t k = 0; k < coefficients.size(); ++k) generator_[k] += coefficients[k];
}

void PointSum::add(const AffinePoint& point, const Scalar& coefficient) {
  points_.push_back(point);
  coefficients_.push_back(coefficient);
}

void PointSum::reserve(size_t points) {
  points_.reserve(points);
  coefficients_.reserve(points);
}

bool PointSum::cancel_var(std::span<const PointSum> sums, std::span<const Scalar> weights, const Generators& generators,
                          ThreadPool& pool) {
  std::vector<Scalar> shared;  // of what sums have in common: generators, h, q
  Scalar of_shared[2];
  std::vector<WeightedPoints> terms;
  for (size_t s = 0; s < sums.size(); ++s) {
    const PointSum& sum = sums[s];
    shared.resize(std::max(shared.size(), sum.generator_.size()));
    for (size_t k = 0; k < sum.generator_.size(); ++k) shared[k] += weights[s] * sum.generator_[k];
    of_shared[0] += weights[s] * sum.blinding_;
    of_shared[1] += weights[s] * sum.value_;
    terms.push_back({sum.points_, sum.coefficients_, weights[s]});
  }
  const Point both[] = {generators.blinding(), generators.value()};
  const std::vector<AffinePoint> bases = batch_to_affine(both);
  terms.push_back({generators.positions().first(shared.size()), shared});
  terms.push_back({bases, of_shared});
  return msm_var(terms, pool).value().is_identity();
}

}  // namespace zkapex
