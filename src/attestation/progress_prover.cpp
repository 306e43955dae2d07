#include "attestation/progress_prover.h"

#include "algebra/fold.h"
#include "attestation/rule_terms.h"
#include "base/unset_vector.h"

namespace zkapex {

namespace {

// Of the rows of a unit.
struct Moved {
  size_t n = 0;
  UnsetVector<int64_t> values, before, away, guide;  // s, p, p − s, Δ

  static Result<Moved> read(const AnchoredUnit& unit, const RowReader& rows, const RowReader& earlier,
                            const RowReader& guide, ThreadPool& pool) {
    Moved out{size_t{1} << (unit.variables - unit.row_variables), {}, {}, {}, {}};
    for (UnsetVector<int64_t>* to : {&out.values, &out.before, &out.away, &out.guide}) to->resize(unit.rows * out.n);
    ZKAPEX_CHECK(read_rows(rows, unit.first_row, out.n, out.values, pool));
    ZKAPEX_CHECK(read_rows(earlier, unit.first_row, out.n, out.before, pool));
    ZKAPEX_CHECK(read_rows(guide, unit.first_row, out.n, out.guide, pool));
    pool.for_ranges(out.away.size(), 1 << 12, [&](size_t begin, size_t end) {
      for (size_t i = begin; i < end; ++i) out.away[i] = out.before[i] - out.values[i];
    });
    return out;
  }
  // Backwards: Σ Δ (p − s).
  [[nodiscard]] std::vector<RuleSums> sums(ThreadPool& pool) const {
    const std::vector<uint8_t> free(n, 1);
    std::vector<RuleSums> out(away.size() / n);
    pool.for_each(out.size(), [&](size_t t) {
      out[t] = sum_moves(std::span(away).subspan(t * n, n), free, std::span(guide).subspan(t * n, n));
    });
    return out;
  }
};

}  // namespace

Status add_progress(const ProgressUnit& unit, const RowReader& rows, const EarlierModel& before, const RowReader& guide,
                    ThreadPool& pool, size_t first_group, std::span<RuleSums> sums) {
  ZKAPEX_TRY(const Moved moved, Moved::read(unit.rows, rows, before.rows, guide, pool));
  std::vector<RuleSums> of_row = moved.sums(pool);
  for (RuleSums& sum : of_row) std::swap(sum.forward, sum.backward);
  for (const AnchoredRun& run : unit.rows.runs) {
    for (uint64_t t = run.first_row; t < run.first_row + run.rows; ++t) sums[run.group - first_group] += of_row[t];
  }
  return Done{};
}

Status prove_progress(const ProgressUnit& unit, std::span<const Scalar> powers, const RowReader& rows,
                      const EarlierModel& before, const RowReader& guide, std::span<const Scalar> blindings,
                      Sender& channel, ArgumentProver& prover) {
  ThreadPool& pool = prover.pool();
  const AnchoredUnit& of = unit.rows;
  ZKAPEX_TRY(const Moved moved, Moved::read(of, rows, before.rows, guide, pool));
  const std::vector<Scalar> weights = of.weights(powers);
  const std::vector<RuleSums> sums = moved.sums(pool);
  const Scalar thousand = Scalar::from_u64(Guidance::kThousand);
  Scalar k;
  for (size_t t = 0; t < sums.size(); ++t) k += weights[t] * (to_scalar(sums[t].forward) - to_scalar(sums[t].backward));
  k = channel.send("K", {thousand * k})[0];
  enum : unsigned { kWeight, kGuide, kAway };
  Sumcheck sumcheck{.variables = of.variables,
                    .degree = 3,
                    .tables = {{SumcheckTable::Blocks{weights, of.variables - of.row_variables}},
                               {std::span<const int64_t>(moved.guide)},
                               {std::span<const int64_t>(moved.away)}},
                    .terms = {{thousand, {kWeight, kGuide, kAway}}},
                    .eq_point = {},
                    .bits = {}};
  const SumcheckProof end = prove_sumcheck(channel, "progress", std::move(sumcheck), k, pool);

  const std::span<const Scalar> r(end.point);
  const std::vector<Scalar> row = eq_prefix(r.first(of.row_variables), of.rows);
  std::vector<Scalar> now = fold_i64(moved.values, moved.n, row, pool);
  const std::vector<Scalar> earlier = fold_i64(moved.before, moved.n, row, pool);
  const std::vector<Scalar> point(r.begin() + of.row_variables, r.end());
  const Scalar weight = thousand * end.tables[kWeight] * end.tables[kGuide];
  const std::vector<Scalar> sent =
      channel.send("theta, before", {evaluate(now, point), evaluate(earlier, point)}, {{-weight, weight}}, end.claim);
  const Scalar delta = channel.transcript().challenge("delta");
  for (size_t l = 0; l < now.size(); ++l) now[l] += delta * earlier[l];
  const Scalar blinding =
      inner_product(row, blindings) + delta * inner_product(row, before.blindings.subspan(of.first_row, of.rows));
  return prover.add_pair({std::move(now), blinding, point, sent[0] + delta * sent[1]});
}

}  // namespace zkapex
