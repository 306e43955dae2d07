// The weights eq(point, ·) over the variables that a sumcheck round has not bound yet, split in two small tables:
// weight(i) = high[i >> kLowBits] · low[i & mask].
#pragma once

#include <span>
#include <vector>

#include "algebra/multilinear.h"
#include "algebra/scalar.h"

namespace zkapex {

class EqWeights {
 public:
  static constexpr unsigned kLowBits = 7;
  static constexpr size_t kChunk = size_t{1} << kLowBits;  // indices that share one high weight

  // Weights over variables first .. variables − 1 of `variables`; eq_point covers the highest of them, the others
  // weigh 1.
  EqWeights(std::span<const Scalar> eq_point, unsigned variables, unsigned first) {
    ProductFunction low, high;
    for (unsigned v = variables; v-- > first;) {  // most significant first
      const unsigned from_top = variables - 1 - v;
      const BitFactor factor = from_top < eq_point.size()
                                   ? BitFactor{Scalar::one() - eq_point[from_top], eq_point[from_top]}
                                   : BitFactor{Scalar::one(), Scalar::one()};
      (v < first + kLowBits ? low : high).push_back(factor);
    }
    low_ = product_table(low);
    high_ = product_table(high);
  }

  [[nodiscard]] std::span<const Scalar> low() const { return low_; }
  [[nodiscard]] const Scalar& high(size_t chunk) const { return high_[chunk]; }

 private:
  static std::vector<Scalar> product_table(const ProductFunction& f) {
    std::vector<Scalar> table{Scalar::one()};
    for (const auto& [zero, one] : f) {
      std::vector<Scalar> next;
      next.reserve(2 * table.size());
      for (const Scalar& t : table) {
        next.push_back(t * zero);
        next.push_back(t * one);
      }
      table = std::move(next);
    }
    return table;
  }

  std::vector<Scalar> low_, high_;
};

}  // namespace zkapex
