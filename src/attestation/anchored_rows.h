// "Committed rows are near public ones" (docs/window.md, section 6): a part that relations use. Rows are in groups k
// with a bound B_k each; s are the committed entries, a those of the reference. The slacks B_k − Σ (s − a)² are
// committed by their bits, and γ is drawn after them. Then
//
//   forks   one for each unit of rows: K = Σ_i W(i) (s(i) − a(i))², W being γ^k on the rows of group k
//           one for the slacks: bits are bits, and S = Σ_k γ^k (slack k)
//   main    equation: Σ K + S = Σ_k γ^k B_k
//
// The verifier reads the reference by rows, and evaluates it at a point itself.
#pragma once

#include "argument/bit_check.h"
#include "attestation/slack_rows.h"
#include "weights/packed_weights.h"

namespace zkapex {

// Consecutive rows of one group; `first_row` counts from the first row of what they are in.
struct AnchoredRun {
  size_t group = 0;
  uint64_t first_row = 0, rows = 0;
};

// Rows that are proved together.
struct AnchoredUnit {
  size_t first_point = 0;            // the number of its first row among the relation's points
  uint64_t first_row = 0, rows = 0;  // as the readers of rows count
  std::vector<AnchoredRun> runs;     // rows in no run weigh nothing
  unsigned variables = 0, row_variables = 0;

  [[nodiscard]] size_t scalars() const { return 1 + 3 * size_t{variables} + 2; }  // on its fork
  // W by row, virtual ones included, and its extension at the row's part of a point.
  [[nodiscard]] std::vector<Scalar> weights(std::span<const Scalar> powers) const;
  [[nodiscard]] Scalar weight_at(std::span<const Scalar> powers, std::span<const Scalar> r_row) const;
};

// Rows 0 .. rows − 1, of which the first is point number `first_point`, in units of at most 2^22 entries.
[[nodiscard]] std::vector<AnchoredUnit> anchored_units(size_t row_length, uint64_t rows, size_t first_point,
                                                       std::span<const AnchoredRun> runs);

// γ^k, k < count; draws γ.
[[nodiscard]] std::vector<Scalar> draw_anchor(Transcript& main, size_t count);

// Σ_t weights[t] (row t of the unit), of which few are in memory at a time, and as integers.
[[nodiscard]] Result<std::vector<Scalar>> fold_unit(const AnchoredUnit& unit, const RowReader& rows,
                                                    std::span<const Scalar> weights, ThreadPool& pool);
// Σ_i eq(r, i) a(i) over the unit's rows.
[[nodiscard]] Result<Scalar> rows_at(const AnchoredUnit& unit, const RowReader& rows, std::span<const Scalar> r,
                                     ThreadPool& pool);

// Whole rows, read in parallel.
[[nodiscard]] Status read_rows(const RowReader& reader, uint64_t first_row, size_t row_length, std::span<int64_t> out,
                               ThreadPool& pool);

// The verifier on one unit: K.
[[nodiscard]] Expression replay_anchored(const AnchoredUnit& unit, std::span<const Scalar> powers,
                                         const RowReader& reference, Receiver& channel, ArgumentVerifier& verifier);

inline constexpr BitLabels kSlackLabels{.sumcheck = "slacks", .message = "slack evaluations"};

// The slacks' rows: S. `first_point`: the number of the first among the relation's points.
[[nodiscard]] size_t slack_scalars(const SlackRows& slacks);  // on the fork
[[nodiscard]] Expression replay_slacks(const SlackRows& slacks, size_t first_point, std::span<const Scalar> powers,
                                       Receiver& channel, ArgumentVerifier& verifier);

}  // namespace zkapex
