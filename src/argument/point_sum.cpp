#include "argument/point_sum.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>

#include "algebra/msm.h"

namespace zkapex {

namespace {

// first · Π of the factors at the bits of i that are set, for all i.
std::vector<Scalar> subset_products(const Scalar& first, std::span<const Scalar> factors) {
  std::vector<Scalar> out{first};
  out.reserve(size_t{1} << factors.size());
  for (size_t t = factors.size(); t-- > 0;) {
    for (size_t i = 0, size = out.size(); i < size; ++i) out.push_back(out[i] * factors[t]);
  }
  return out;
}

}  // namespace

FoldedWeights::FoldedWeights(const Scalar& first, std::span<const Scalar> factors, size_t size) : size_(size) {
  assert(factors.size() < 64 && size <= size_t{1} << factors.size());
  const size_t low = std::min<size_t>(factors.size(), std::countr_zero(kBlock));
  of_block_ = subset_products(first, factors.first(factors.size() - low));
  of_block_.resize((size + kBlock - 1) / kBlock);
  of_block_.shrink_to_fit();  // a proof's sum waits for those of others
  inside_ = subset_products(Scalar::one(), factors.last(low));
}

void PointSum::add_generator(size_t index, const Scalar& coefficient) {
  generator_.emplace_back(index, coefficient);
  generators_ = std::max(generators_, index + 1);
}

void PointSum::add_generators(FoldedWeights coefficients) {
  generators_ = std::max(generators_, coefficients.size());
  folded_.push_back(std::move(coefficients));
}

void PointSum::add(const AffinePoint& point, const Scalar& coefficient) {
  points_.push_back(point);
  coefficients_.push_back(coefficient);
}

void PointSum::reserve(size_t points) {
  points_.reserve(points);
  coefficients_.reserve(points);
}

void PointSum::add_up_block(std::span<const PointSum> sums, std::span<const Scalar> weights, size_t block,
                            std::span<Scalar> out) {
  const size_t begin = block * FoldedWeights::kBlock;
  std::array<ScalarAccumulator, FoldedWeights::kBlock> total;
  for (size_t s = 0; s < sums.size(); ++s) {
    for (const FoldedWeights& folded : sums[s].folded_) {
      if (begin >= folded.size()) continue;
      const Scalar weight = weights[s] * folded.of_block()[block];
      const size_t count = std::min(out.size(), folded.size() - begin);
      for (size_t k = 0; k < count; ++k) total[k].add_product(weight, folded.inside()[k]);
    }
    for (const auto& [index, coefficient] : sums[s].generator_) {
      if (index >= begin && index - begin < out.size()) total[index - begin].add_product(weights[s], coefficient);
    }
  }
  for (size_t k = 0; k < out.size(); ++k) out[k] = total[k].reduce();
}

bool PointSum::cancel_var(std::span<const PointSum> sums, std::span<const Scalar> weights, const Generators& generators,
                          ThreadPool& pool) {
  // Of what sums have in common: generators, h, q.
  constexpr size_t kBlock = FoldedWeights::kBlock;
  size_t count = 0;
  for (const PointSum& sum : sums) count = std::max(count, sum.generators_);
  std::vector<Scalar> shared(count);
  pool.for_each((count + kBlock - 1) / kBlock, [&](size_t block) {
    const size_t first = block * kBlock;
    add_up_block(sums, weights, block, std::span(shared).subspan(first, std::min(kBlock, count - first)));
  });
  Scalar of_shared[2];
  std::vector<WeightedPoints> terms;
  for (size_t s = 0; s < sums.size(); ++s) {
    const PointSum& sum = sums[s];
    of_shared[0] += weights[s] * sum.blinding_;
    of_shared[1] += weights[s] * sum.value_;
    terms.push_back({sum.points_, sum.coefficients_, weights[s]});
  }
  const Point both[] = {generators.blinding(), generators.value()};
  const std::vector<AffinePoint> bases = batch_to_affine(both);
  terms.push_back({generators.positions().first(count), shared});
  terms.push_back({bases, of_shared});
  return msm_var(terms, pool).value().is_identity();
}

}  // namespace zkapex
