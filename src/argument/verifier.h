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
  OpeningVector vector;
  Scalar value;
};

class ArgumentVerifier {
 public:
  // `shape`, `proof`, which was decoded with it, and `main`, which has absorbed all that comes before the first
  // challenge, outlive this.
  ArgumentVerifier(const ProofShape& shape, const Proof& proof, Transcript& main, ThreadPool& pool);

  [[nodiscard]] ThreadPool& pool() { return pool_; }

  // The main transcript, for challenges that come before the forks.
  [[nodiscard]] Transcript& main() { return main_; }
  // The next `count` of the shape's later rows. Returns the number of the first.
  size_t absorb_rows(std::string_view label, size_t count);
  // body(k, channel) for every fork of the shape, then the ends of all of them on the main transcript.
  template <class Body>
  void for_forks(std::string_view name, const Body& body) {
    std::vector<Transcript> forks;
    uint32_t first_pad = 0;
    for (size_t k = 0; k < shape_.forks.size(); ++k) {
      forks.push_back(main_.fork(name, k));
      Receiver channel(forks.back(), proof_.forks[k], first_pad);
      body(k, channel);
      first_pad += static_cast<uint32_t>(shape_.forks[k]);
    }
    for (const Transcript& fork : forks) main_.absorb("fork", fork);
  }

  // `expression` must be zero.
  void require_zero(Expression expression) { equations_.push_back(std::move(expression)); }
  // In the order in which the prover adds them.
  void add_pair(VerifierPair pair) { pairs_.push_back(std::move(pair)); }
  void add_product(VerifierProduct product) { products_.push_back(std::move(product)); }

  // After the forks: all of it as one claim.
  [[nodiscard]] OpeningClaim reduce();

 private:
  // The sealed values of all pairs at one point ξ of the row, after the sumcheck over positions.
  struct Reduced {
    std::vector<Scalar> xi;
    std::vector<Expression> values;
  };
  Reduced reduce_pairs(Receiver& channel);
  void check_products(Receiver& channel);

  const ProofShape& shape_;
  const Proof& proof_;
  Transcript& main_;
  ThreadPool& pool_;
  size_t next_row_;  // of those that are to be absorbed
  std::vector<Expression> equations_;
  std::vector<VerifierPair> pairs_;
  std::vector<VerifierProduct> products_;
};

// What must add up to the identity if `claim` holds; `rows` are the relation's points.
[[nodiscard]] Result<PointSum, Rejection> point_sum(Transcript& main, const OpeningClaim& claim, const Proof& proof,
                                                    std::span<const AffinePoint> rows);

// Of one proof.
[[nodiscard]] Verdict verdict_var(const PointSum& sum, const Generators& generators, ThreadPool& pool);

// One multi-scalar multiplication for all sums, with random weights. Where it fails, one for each half, and so on: k
// false sums among n cost about 2 k log n multiplications. The indices of those that are not the identity are returned
// in order, none if all hold.
[[nodiscard]] Result<std::vector<size_t>> find_false_var(std::span<const PointSum> sums, const Generators& generators,
                                                         ThreadPool& pool);

[[nodiscard]] std::vector<Scalar> powers(const Scalar& x, size_t count);  // 1, x, x², ..

}  // namespace zkapex
