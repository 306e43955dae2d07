// A worked relation: "y_b = A_b x_b mod ℓ for every block b", A a committed matrix of small integers in S × S blocks, x
// and y committed. Two sumchecks reduce it to one value each of y, x and A.
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
