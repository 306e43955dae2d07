// What the verifier knows of a scalar s that was sent as s + pad: an affine expression in the pads,
//   constant + Σ coefficient_p · pad_p.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "algebra/scalar.h"

namespace zkapex {

class Expression {
 public:
  using Term = std::pair<uint32_t, Scalar>;  // (pad, coefficient)

  Expression() = default;
  explicit Expression(const Scalar& constant) : constant_(constant) {}
  Expression(const Scalar& constant, uint32_t pad, const Scalar& coefficient)
      : constant_(constant), terms_{{pad, coefficient}} {}

  [[nodiscard]] const Scalar& constant() const { return constant_; }
  [[nodiscard]] std::span<const Term> terms() const { return terms_; }  // by pad, strictly increasing

  Expression& operator+=(const Expression& other);
  Expression& operator+=(const Scalar& constant);
  Expression& operator*=(const Scalar& factor);

  friend Expression operator+(Expression a, const Expression& b) { return std::move(a += b); }
  friend Expression operator+(Expression a, const Scalar& b) { return std::move(a += b); }
  friend Expression operator-(Expression a, const Expression& b) { return std::move(a += b * -Scalar::one()); }
  friend Expression operator*(Expression a, const Scalar& k) { return std::move(a *= k); }

 private:
  Scalar constant_;
  std::vector<Term> terms_;
};

}  // namespace zkapex
