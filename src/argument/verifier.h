// The verifier's side of the argument: replays the transcript with expressions in the pads, collects equations, and
// reduces everything to one opening of one committed vector.
#pragma once

#include <vector>

#include "argument/channel.h"
#include "argument/inner_product.h"

namespace zkapex {

// A committed vector as a sum of committed rows: (index into the relation's list of points, coefficient).
using RowCombination = std::vector<std::pair<size_t, Scalar>>;

// "The committed vector has multilinear extension `value` at `point`."
struct VerifierPair {
  RowCombination commitment;
  std::vector<Scalar> point;
  Expression value;
};

struct VerifierProduct {
  Expression a, b, c;  // must satisfy a b = c
};

// All that was claimed, as one statement: the vector committed to by Σ coefficient · row + pad_weight · (pad
// commitment) has the inner product `value` with the public `vector`.
struct OpeningClaim {
  RowCombination commitment;
  Scalar pad_weight;
  std::vector<Scalar> vector;
  Scalar value;
};

class ArgumentVerifier {
 public:
  // `shape` and `proof`, which was decoded with it, outlive this.
  ArgumentVerifier(const ProofShape& shape, const Proof& proof);

  [[nodiscard]] Receiver fork(size_t index, Transcript& transcript) const;

  // `expression` must be zero.
  void require_zero(Expression expression) { equations_.push_back(std::move(expression)); }

  // Pairs and products in the order of the forks. `main` is the transcript that the forks came from.
  [[nodiscard]] OpeningClaim reduce(Transcript& main, std::span<const Transcript> forks,
                                    std::span<const VerifierPair> pairs, std::span<const VerifierProduct> products);

 private:
  // The sealed values of all pairs at one point ξ of the row, after the sumcheck over positions.
  struct Reduced {
    std::vector<Scalar> xi;
    std::vector<Expression> values;
  };
  Reduced reduce_pairs(Receiver& channel, std::span<const VerifierPair> pairs);
  void check_products(Receiver& channel, std::span<const VerifierProduct> products);

  const ProofShape& shape_;
  const Proof& proof_;
  std::vector<uint32_t> first_pads_;  // of each fork
  std::vector<Expression> equations_;
};

// What must add up to the identity if `claim` holds; `rows` are the relation's points.
[[nodiscard]] Result<PointSum, Rejection> settle(Transcript& main, const OpeningClaim& claim, const Proof& proof,
                                                 std::span<const Point> rows);

// Rows that came from outside: canonical encodings, none the identity.
[[nodiscard]] Result<std::vector<Point>, Rejection> decode_rows(std::span<const EncodedPoint> rows, ThreadPool& pool);

// Of one proof.
[[nodiscard]] Verdict verdict_var(const PointSum& sum, const Generators& generators, ThreadPool& pool);

// One multi-scalar multiplication for all sums, with random weights. Where it fails, one for each half, and so on: k
// false sums among n cost about 2 k log n multiplications. The indices of those that are not the identity are returned
// in order, none if all hold.
[[nodiscard]] Result<std::vector<size_t>> find_false_var(std::span<const PointSum> sums, const Generators& generators,
                                                         ThreadPool& pool);

[[nodiscard]] std::vector<Scalar> powers(const Scalar& x, size_t count);  // 1, x, x², ..

}  // namespace zkapex
