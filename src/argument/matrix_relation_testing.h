// A worked relation for tests: "y_b = A_b x_b mod ℓ for every block b", A a committed matrix of small integers in S × S
// blocks, x and y committed, blocks filling whole rows. Two sumchecks reduce it to one value each of y, x and A. An
// index of x and y is (b, j), of A (b, j, l). In the words of docs/argument.md, section 12:
//
//   main      absorb protocol "zkapex matrix 1"; parameters (u64 n ‖ u64 S ‖ u64 blocks); context; rows; pads
//   blocks 0  challenges r[..] (⌈log blocks⌉ + log S);  send y = y(r)
//             sumcheck "first", degree 2, to ρ:  y(r) = Σ_{b,l} v(b, l) x(b, l),
//               v(b, l) = eq(r_b, b) Σ_j eq(r_j, j) A_b[j, l]
//             send "v, x, vx"                    equation: claim = vx;  product: v · x = vx
//             sumcheck "second", degree 3, to σ:  v(ρ) = Σ_{b,j} eq(ρ_b, b) eq(r, (b, j)) A(b, j, ρ_l)
//             send A = A(σ, ρ_l)                 equation: claim = eq(ρ_b, σ_b) eq(r, σ) A
//             pairs: y at r, x at ρ, A at (σ, ρ_l), rows folded by the high variables, positions by the low ones
//   main      section 8
//
// The relation is mod ℓ. Where y must be the product over the integers, the entries need bounds and sizes that do not
// wrap.
#pragma once

#include "argument/relation.h"

namespace zkapex {

struct MatrixStatement {
  std::string context;    // what the proof is for
  size_t row_length = 0;  // a power of two, at least side²
  size_t side = 0;        // S, a power of two
  size_t blocks = 0;      // a multiple of row_length / side, so that vectors fill whole rows

  [[nodiscard]] size_t vector_rows() const { return blocks * side / row_length; }
  [[nodiscard]] size_t matrix_rows() const { return blocks * side * side / row_length; }
  [[nodiscard]] ProofShape shape() const;  // brings the rows of y, of x and of A, in this order
};

struct MatrixValues {
  std::span<const int8_t> matrix;  // block by block, row-major
  std::span<const int64_t> x, y;   // block by block
};

class MatrixRelation : public Relation {
 public:
  explicit MatrixRelation(MatrixStatement statement) : statement_(std::move(statement)) {}

  [[nodiscard]] std::string_view protocol() const override { return "zkapex matrix 1"; }
  [[nodiscard]] Verdict sound() const override;
  [[nodiscard]] ProofShape shape() const override { return statement_.shape(); }
  void absorb(Transcript& main, std::span<const EncodedPoint> rows) const override;
  void replay(ArgumentVerifier& verifier) const override;

 private:
  MatrixStatement statement_;
};

[[nodiscard]] Result<Proof> prove_matrix(const MatrixStatement& statement, const MatrixValues& values,
                                         const Generators& generators, ThreadPool& pool, ProveOptions options = {});

}  // namespace zkapex
