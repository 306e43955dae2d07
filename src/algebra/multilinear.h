// Multilinear tables and product functions over the hypercube {0,1}^k.
//
// A point is written most significant variable first, and so are the bits of an index: i = sum of bit_t 2^(k-1-t).
// A table may be a prefix: the values for i < size(), all others being zero ("virtual" padding, never touched).
#pragma once

#include <span>
#include <vector>

#include "algebra/scalar.h"

namespace zkapex {

// eq(r, i) for all i in [0, 2^k): the product over t of r_t where bit t of i is set, 1 - r_t where it is not.
[[nodiscard]] std::vector<Scalar> eq_table(std::span<const Scalar> point);
[[nodiscard]] std::vector<Scalar> eq_prefix(std::span<const Scalar> point, size_t count);  // the first `count` of them

// The multilinear extension of equality: the product over t of a_t b_t + (1 - a_t)(1 - b_t); same number of variables.
[[nodiscard]] Scalar eq(std::span<const Scalar> a, std::span<const Scalar> b);
// That of eq(a, i) eq(b, i) at c: the product over t of a_t b_t c_t + (1 - a_t)(1 - b_t)(1 - c_t).
[[nodiscard]] Scalar eq(std::span<const Scalar> a, std::span<const Scalar> b, std::span<const Scalar> c);

// Binds the least significant variable to x, in place: new[i] = t[2i] + x (t[2i+1] - t[2i]). The table is a prefix: an
// odd last element is paired with a virtual zero.
void fold_low(std::vector<Scalar>& table, const Scalar& x);

// The multilinear extension of a prefix table at a point of enough variables (size() <= 2^variables).
[[nodiscard]] Scalar evaluate(std::span<const Scalar> table, std::span<const Scalar> point);

// f(i) = product over t of the factor that bit t of i selects, most significant bit first.
struct BitFactor {
  Scalar zero, one;
};
using ProductFunction = std::vector<BitFactor>;

[[nodiscard]] ProductFunction eq_pairs(std::span<const Scalar> r);                              // eq(r, i)
[[nodiscard]] ProductFunction eq2_pairs(std::span<const Scalar> r, std::span<const Scalar> s);  // eq(r, i) eq(s, i)
[[nodiscard]] ProductFunction pow2_pairs(std::span<const Scalar> r);                            // eq(r, i) 2^i

// f(i), i < 2^size.
[[nodiscard]] Scalar at(const ProductFunction& f, uint64_t i);

// The sum of f(i) over 0 <= i < min(t, 2^size), in time linear in the number of variables.
[[nodiscard]] Scalar prefix(const ProductFunction& f, uint64_t t);

}  // namespace zkapex
