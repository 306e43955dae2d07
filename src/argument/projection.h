// "Every entry of these committed rows is small", with slack, by random projection (docs/argument.md, section 14): a
// part that relations use. After the rows and the pads a matrix R of 0, +1 and −1 is drawn; the prover commits to
//
//   v(t, c, q) = Σ_l R[q, l] s_t(c m + l)      t < T: rows; c < n / m: chunks of a row; q < λ
//
// in e bits, and shows that these are bits, and that they are the projections of the committed rows. Then every entry
// is below 2^e in size but with probability 2^−λ. An honest prover's v fit if m · max|s| < 2^(e−1).
//
//   main    challenge "projection", of all projections of a relation; rows of v
//   forks   one for each unit of v's rows: bits are bits
//           link: τ over (t, c), ρ over q; v(τ, ρ) = Σ_{c, l} eq(τ_c, c) E(l) f(c m + l), E = Σ_q eq(ρ, q) R[q, ·],
//           f = Σ_t eq(τ_t, t) s_t: a sumcheck over the position, to ξ; f(ξ) is sent. Pairs: v at (τ, ρ), f at ξ
#pragma once

#include <functional>
#include <variant>

#include "algebra/ternary.h"
#include "argument/bit_units.h"

namespace zkapex {

struct ProjectionShape {
  size_t row_length = 0;      // n
  size_t rows = 0;            // T
  size_t chunk = 0;           // m: a power of two, at most n and 2^16
  unsigned count = 0;         // λ, at most 256
  unsigned bits = 0;          // e, at most 63
  std::vector<size_t> units;  // how v's rows are cut: see unit_rows

  [[nodiscard]] unsigned chunk_variables() const;  // log2 n / m
  [[nodiscard]] unsigned count_variables() const;  // ⌈log2 λ⌉: v is zero from λ on
  [[nodiscard]] unsigned row_variables() const;    // ⌈log2 T⌉
  [[nodiscard]] size_t values_per_row() const { return size_t{1} << (chunk_variables() + count_variables()); }
  [[nodiscard]] size_t unit_rows() const;  // rows that v takes, for all T
  [[nodiscard]] BitUnits bit_units() const { return {row_length, bits, units}; }
  // The largest entry that an honest prover may have.
  [[nodiscard]] int64_t largest() const;

  [[nodiscard]] size_t forks() const { return units.size() + 1; }
  [[nodiscard]] std::vector<size_t> fork_scalars() const;  // sent on each
  [[nodiscard]] size_t pairs() const { return units.size() + 2; }
  [[nodiscard]] size_t products() const { return units.size(); }
  [[nodiscard]] size_t later_rows() const { return bit_units().bit_rows(); }
  // kStatement unless all numbers are in the supported range and the units have all of v's rows.
  [[nodiscard]] Verdict sound() const;
};

// v's rows cut into units of at most 2^22 values; none where that would make more units than a proof has forks.
[[nodiscard]] std::vector<size_t> standard_units(const ProjectionShape& shape);

// R of the projection with that number, out of the challenge.
[[nodiscard]] TernaryMatrix draw_projection(const ProjectionShape& shape, const Scalar& challenge, uint32_t number);

// Some whole rows of integers.
using IntegerRows = std::variant<std::span<const int8_t>, std::span<const int16_t>, std::span<const int64_t>>;
// Gives all rows in order, some at a time. Called twice.
using RowSource = std::function<Status(const std::function<Status(const IntegerRows&)>& visit)>;

// v in its units. `triangle` = S: every row holds S × S squares that are zero above their diagonals.
[[nodiscard]] Result<BitMatrix> project(const ProjectionShape& shape, const TernaryMatrix& matrix,
                                        const RowSource& source, size_t triangle, ThreadPool& pool);

class ProjectionProver {
 public:
  // `blindings`: of the T rows; `triangle` as in `project`. All outlive this.
  ProjectionProver(const ProjectionShape& shape, RowSource source, std::span<const Scalar> blindings,
                   size_t triangle = 0);

  // After the challenge: R and v. That entries are not too large was checked before it, since what is refused after it
  // would tell something of them.
  Status draw(const Scalar& challenge, uint32_t number, ThreadPool& pool);
  [[nodiscard]] Result<CommittedRows> commit(const Generators& generators, Nonces& nonces, ThreadPool& pool) const {
    return commit_rows_var(generators, bits_->packed(), nonces, pool);
  }
  // `blindings`: of v's bit rows.
  Status prove(size_t fork, std::span<const Scalar> blindings, Sender& channel, ArgumentProver& prover);

 private:
  Status link(std::span<const Scalar> blindings, Sender& channel, ArgumentProver& prover);
  Result<std::vector<Scalar>> fold(std::span<const Scalar> weights, ThreadPool& pool) const;

  const ProjectionShape& shape_;
  RowSource source_;
  std::span<const Scalar> blindings_;
  size_t triangle_;
  std::optional<TernaryMatrix> matrix_;
  std::optional<BitMatrix> bits_;
};

// `first_row`: the number of the first of the T rows among the relation's points, `first_bit_row` of v's bit rows.
struct ProjectionNumbers {
  size_t first_row, first_bit_row;
};
void replay_projection(const ProjectionShape& shape, size_t fork, const TernaryMatrix& matrix,
                       const ProjectionNumbers& numbers, Receiver& channel, ArgumentVerifier& verifier);

// Rows of a relation whose range is shown by one projection.
struct ProjectedRows {
  ProjectionShape shape;
  uint32_t number = 0;
  ProjectionNumbers rows = {};
};

}  // namespace zkapex
