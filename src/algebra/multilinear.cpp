#include "algebra/multilinear.h"

#include <algorithm>

#include "base/bits.h"

namespace zkapex {

namespace {

// Bit t of i, t = 0 the most significant of `variables`. Variables beyond 64 are those of bits that are zero.
bool bit_of(uint64_t i, size_t t, size_t variables) {
  const size_t position = variables - 1 - t;
  return position < 64 && (i >> position & 1) != 0;
}

}  // namespace

std::vector<Scalar> eq_table(std::span<const Scalar> point) {
  std::vector<Scalar> table(size_t{1} << point.size());
  table[0] = Scalar::one();
  // Doubled in place, highest element first, so that no element is overwritten before it is read.
  size_t size = 1;
  for (const Scalar& x : point) {
    for (size_t i = size; i-- > 0;) {
      const Scalar set = Scalar::multiply_inline(x, table[i]);
      table[2 * i] = table[i] - set;
      table[2 * i + 1] = set;
    }
    size *= 2;
  }
  return table;
}

std::vector<Scalar> eq_prefix(std::span<const Scalar> point, size_t count) {
  std::vector<Scalar> out = eq_table(point);
  out.resize(count);
  return out;
}

Scalar eq(std::span<const Scalar> a, std::span<const Scalar> b) {
  ZKAPEX_BOUND(a.size() == b.size());
  Scalar out = Scalar::one();
  for (size_t t = 0; t < a.size(); ++t) {
    const Scalar both = a[t] * b[t];
    out *= both + both + Scalar::one() - a[t] - b[t];
  }
  return out;
}

Scalar eq(std::span<const Scalar> a, std::span<const Scalar> b, std::span<const Scalar> c) {
  ZKAPEX_BOUND(a.size() == b.size() && a.size() == c.size());
  Scalar out = Scalar::one();
  for (size_t t = 0; t < a.size(); ++t) {
    out *= a[t] * b[t] * c[t] + (Scalar::one() - a[t]) * (Scalar::one() - b[t]) * (Scalar::one() - c[t]);
  }
  return out;
}

void fold_low(std::vector<Scalar>& table, const Scalar& x) {
  const size_t pairs = table.size() / 2;
  for (size_t i = 0; i < pairs; ++i) {
    const Scalar low = table[2 * i];
    table[i] = low + Scalar::multiply_inline(x, table[2 * i + 1] - low);
  }
  if (table.size() % 2 != 0) {
    table[pairs] = table.back() * (Scalar::one() - x);
    table.resize(pairs + 1);
  } else {
    table.resize(pairs);
  }
}

Scalar evaluate(std::span<const Scalar> table, std::span<const Scalar> point) {
  ZKAPEX_BOUND(point.size() >= 64 || table.size() <= uint64_t{1} << point.size());
  if (table.empty()) return Scalar::zero();
  // Σ_h eq(h) Σ_l eq(l) table[h, l], the bits of an index halved: sums that are reduced once, and no copy of the table.
  const size_t used = log2_ceil(table.size()), low = used / 2;
  const std::vector<Scalar> inside = eq_table(point.last(low)), outside = eq_table(point.last(used).first(used - low));
  ScalarAccumulator sum;
  for (size_t first = 0; first < table.size(); first += inside.size()) {
    const std::span<const Scalar> part = table.subspan(first, std::min(inside.size(), table.size() - first));
    sum.add_product(outside[first / inside.size()], inner_product(part, std::span(inside).first(part.size())));
  }
  Scalar out = sum.reduce();
  for (const Scalar& x : point.first(point.size() - used)) out *= Scalar::one() - x;  // bits that are zero
  return out;
}

ProductFunction eq_pairs(std::span<const Scalar> r) {
  ProductFunction f;
  f.reserve(r.size());
  for (const Scalar& x : r) f.push_back({Scalar::one() - x, x});
  return f;
}

ProductFunction eq2_pairs(std::span<const Scalar> r, std::span<const Scalar> s) {
  ZKAPEX_BOUND(r.size() == s.size());
  ProductFunction f;
  f.reserve(r.size());
  for (size_t t = 0; t < r.size(); ++t) f.push_back({(Scalar::one() - r[t]) * (Scalar::one() - s[t]), r[t] * s[t]});
  return f;
}

ProductFunction pow2_pairs(std::span<const Scalar> r) {
  ProductFunction f(r.size());
  Scalar power = Scalar::from_u64(2);  // 2^(2^position) of the bit at hand
  for (size_t t = r.size(); t-- > 0;) {
    f[t] = {Scalar::one() - r[t], r[t] * power};
    power = power.square();
  }
  return f;
}

Scalar at(const ProductFunction& f, uint64_t i) {
  Scalar out = Scalar::one();
  for (size_t t = 0; t < f.size(); ++t) out *= bit_of(i, t, f.size()) ? f[t].one : f[t].zero;
  return out;
}

Scalar prefix(const ProductFunction& f, uint64_t t) {
  // The i below t split by the first bit, from the top, in which they differ from t: there t has a one, i a zero, and
  // the bits after it are free. From the least significant bit up: `below` sums the i whose remaining bits are below
  // t's, `all` sums over all of the remaining bits.
  Scalar below, all = Scalar::one();
  for (size_t k = f.size(); k-- > 0;) {
    below = bit_of(t, k, f.size()) ? f[k].zero * all + f[k].one * below : f[k].zero * below;
    all *= f[k].zero + f[k].one;
  }
  const bool everything = f.size() < 64 && t >= uint64_t{1} << f.size();
  return everything ? all : below;
}

}  // namespace zkapex
