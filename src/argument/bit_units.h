// Committed rows of integers in bit planes, cut into units that are proved to hold bits, each in memory of its own. A
// unit's rows are committed plane after plane, and the units come one after another.
#pragma once

#include "argument/bit_check.h"
#include "argument/bit_matrix.h"

namespace zkapex {

struct BitUnits {
  size_t row_length = 0;     // n
  unsigned planes = 0;       // bits of an integer, two's complement
  std::vector<size_t> rows;  // of each unit

  [[nodiscard]] size_t all_rows() const;
  [[nodiscard]] size_t bit_rows() const { return planes * all_rows(); }
  [[nodiscard]] size_t first_row(size_t unit) const;
  [[nodiscard]] size_t first_bit_row(size_t unit) const { return planes * first_row(unit); }
  [[nodiscard]] unsigned row_variables(size_t unit) const;
  [[nodiscard]] unsigned variables(size_t unit) const;
  [[nodiscard]] size_t scalars(size_t unit) const;  // that are sent on the unit's fork
  // kStatement unless all numbers are in the supported range.
  [[nodiscard]] Verdict sound() const;
};

// One unit on its fork: one product, and one pair. `blindings`: of all bit rows; the first of these is number `first`.
[[nodiscard]] Status prove_unit(const BitUnits& units, size_t unit, const BitMatrix& bits,
                                std::span<const Scalar> blindings, Sender& channel, ArgumentProver& prover);
void replay_unit(const BitUnits& units, size_t unit, size_t first, Receiver& channel, ArgumentVerifier& verifier);

// Σ_t row[t] V_t for the value rows V_t = Σ_k ±2^k (plane k of row t), of all units: a weight for each row.
[[nodiscard]] ProverPair fold_value_rows(const BitUnits& units, const BitMatrix& bits,
                                         std::span<const Scalar> blindings, std::span<const Scalar> row,
                                         ThreadPool& pool);
void add_value_rows(RowCombination& out, const BitUnits& units, size_t first, std::span<const Scalar> row);

}  // namespace zkapex
