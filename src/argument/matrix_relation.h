// A worked relation: "y_b = A_b x_b mod ℓ for every block b", A a committed matrix of small integers in S × S blocks, x
// and y committed. Two sumchecks reduce it to one value each of y, x and A.
#pragma once

#include "argument/prover.h"
#include "argument/verifier.h"

namespace zkapex {

struct MatrixStatement {
  std::string context;    // what the proof is for
  size_t row_length = 0;  // a power of two, at least side²
  size_t side = 0;        // S, a power of two
  size_t blocks = 0;      // a multiple of row_length / side, so that vectors fill whole rows

  // kStatement unless the numbers are in the supported range, in which no size computed from them overflows.
  [[nodiscard]] Verdict check() const;
  [[nodiscard]] size_t vector_rows() const { return blocks * side / row_length; }
  [[nodiscard]] size_t matrix_rows() const { return blocks * side * side / row_length; }
  [[nodiscard]] ProofShape shape() const;  // brings the rows of y, of x and of A, in this order
};

struct MatrixWitness {
  std::span<const int8_t> matrix;  // block by block, row-major
  std::span<const int64_t> x, y;   // block by block
};

[[nodiscard]] Result<Proof> prove_matrix(const MatrixStatement& statement, const MatrixWitness& witness,
                                         const Generators& generators, ThreadPool& pool, Tamper* tamper = nullptr);
[[nodiscard]] Result<PointSum, Rejection> check_matrix(const MatrixStatement& statement, ByteView proof,
                                                       ThreadPool& pool);
[[nodiscard]] Verdict verify_matrix(const MatrixStatement& statement, ByteView proof, const Generators& generators,
                                    ThreadPool& pool);

[[nodiscard]] Transcript matrix_transcript(const MatrixStatement& statement, std::span<const EncodedPoint> rows,
                                           const EncodedPoint& pads, Transcript::Manifest* manifest = nullptr,
                                           Transcript::Oracle* oracle = nullptr);
[[nodiscard]] OpeningClaim replay_matrix(const MatrixStatement& statement, const ProofShape& shape, const Proof& proof,
                                         Transcript& main);

}  // namespace zkapex
