// Row commitments R = Σ v_l g[l] + r h, and what the prover keeps to open them.
#pragma once

#include "algebra/row_commit.h"
#include "argument/generators.h"
#include "argument/nonces.h"
#include "argument/transcript.h"

namespace zkapex {

struct CommittedRows {
  std::vector<EncodedPoint> encoded;
  SecretVector<Scalar> blindings;  // one a row; wiped on release

  [[nodiscard]] std::span<const Scalar> blindings_from(size_t row, size_t count) const {
    return {blindings.data() + row, count};
  }
  [[nodiscard]] std::span<const Scalar> all_blindings() const { return {blindings.data(), blindings.size()}; }
  void append(const CommittedRows& rows);
};

// Adds a fresh blinding to each row.
[[nodiscard]] CommittedRows blind_rows_var(std::vector<Point> rows, const Generators& generators, Nonces& nonces,
                                           ThreadPool& pool);
// Fresh blindings for every row. Variable time in the entries: the documented side channel of bulk commitment.
[[nodiscard]] Result<CommittedRows> commit_rows_var(const Generators& generators, const PackedRows& rows,
                                                    Nonces& nonces, ThreadPool& pool);

// The same for whole rows of 64-bit integers.
[[nodiscard]] Result<CommittedRows> commit_integers_var(const Generators& generators, std::span<const int64_t> values,
                                                        size_t row_length, Nonces& nonces, ThreadPool& pool);

}  // namespace zkapex
