#include "attestation/anchored_rows.h"

#include <algorithm>

#include "algebra/fold.h"
#include "base/bits.h"
#include "base/first_error.h"
#include "base/unset_vector.h"

namespace zkapex {

std::vector<Scalar> AnchoredUnit::weights(std::span<const Scalar> powers) const {
  std::vector<Scalar> out(size_t{1} << row_variables);
  for (const AnchoredRun& run : runs) {
    std::fill_n(out.begin() + static_cast<ptrdiff_t>(run.first_row), run.rows, powers[run.group]);
  }
  return out;
}

Scalar AnchoredUnit::weight_at(std::span<const Scalar> powers, std::span<const Scalar> r_row) const {
  const ProductFunction row = eq_pairs(r_row);
  Scalar out;
  for (const AnchoredRun& run : runs)
    out += powers[run.group] * (prefix(row, run.first_row + run.rows) - prefix(row, run.first_row));
  return out;
}

std::vector<AnchoredUnit> anchored_units(size_t row_length, uint64_t rows, size_t first_point,
                                         std::span<const AnchoredRun> runs) {
  constexpr uint64_t kEntries = uint64_t{1} << 22;
  const uint64_t at_once = std::max<uint64_t>(1, kEntries / row_length);
  std::vector<AnchoredUnit> out;
  size_t run = 0;
  for (uint64_t first = 0; first < rows; first += at_once) {
    AnchoredUnit unit{first_point + first, first, std::min(at_once, rows - first), {}};
    unit.row_variables = log2_ceil(unit.rows);
    unit.variables = unit.row_variables + log2_ceil(row_length);
    const uint64_t end = first + unit.rows;
    while (run < runs.size() && runs[run].first_row + runs[run].rows <= first) ++run;
    for (size_t k = run; k < runs.size() && runs[k].first_row < end; ++k) {
      const uint64_t low = std::max(runs[k].first_row, first), high = std::min(runs[k].first_row + runs[k].rows, end);
      unit.runs.push_back({runs[k].group, low - first, high - low});
    }
    out.push_back(std::move(unit));
  }
  return out;
}

std::vector<Scalar> draw_anchor(Transcript& main, size_t count) { return powers(main.challenge("anchor"), count); }

Status read_rows(const RowReader& reader, uint64_t first_row, size_t row_length, std::span<int64_t> out,
                 ThreadPool& pool) {
  FirstError failed;
  pool.for_each(out.size() / row_length,
                [&](size_t t) { failed.note(reader(first_row + t, out.subspan(t * row_length, row_length))); });
  return failed.status();
}

Result<std::vector<Scalar>> fold_unit(const AnchoredUnit& unit, const RowReader& rows, std::span<const Scalar> weights,
                                      ThreadPool& pool) {
  constexpr uint64_t kEntriesAtOnce = uint64_t{1} << 19;
  const size_t n = size_t{1} << (unit.variables - unit.row_variables);
  const uint64_t at_once = std::max<uint64_t>(1, kEntriesAtOnce / n);
  std::vector<Scalar> out(n);
  UnsetVector<int64_t> values;
  for (uint64_t first = 0; first < unit.rows; first += at_once) {
    const uint64_t count = std::min(at_once, unit.rows - first);
    values.resize(count * n);
    ZKAPEX_CHECK(read_rows(rows, unit.first_row + first, n, values, pool));
    const std::vector<Scalar> folded = fold_i64(values, n, weights.subspan(first, count), pool);
    for (size_t l = 0; l < n; ++l) out[l] += folded[l];
  }
  return out;
}

Result<Scalar> rows_at(const AnchoredUnit& unit, const RowReader& rows, std::span<const Scalar> r, ThreadPool& pool) {
  ZKAPEX_TRY(const std::vector<Scalar> folded,
             fold_unit(unit, rows, eq_prefix(r.first(unit.row_variables), unit.rows), pool));
  return evaluate(folded, r.subspan(unit.row_variables));
}

Expression replay_anchored(const AnchoredUnit& unit, std::span<const Scalar> powers, const RowReader& reference,
                           Receiver& channel, ArgumentVerifier& verifier) {
  Expression k = channel.receive("K", 1)[0];
  const SumcheckClaim end = verify_sumcheck(channel, "anchor", unit.variables, 3, k);
  const std::vector<Expression> values = channel.receive("theta, d^2", 2);
  const std::span<const Scalar> r(end.point);
  verifier.require_zero(end.claim - values[1] * unit.weight_at(powers, r.first(unit.row_variables)));
  // It was read as a whole before, when its digest was compared: what cannot be read any more is no reference.
  const Result<Scalar> base = rows_at(unit, reference, r, verifier.pool());
  if (!base) verifier.require_zero(Expression(Scalar::one()));
  const Expression away = values[0] + (base ? -*base : Scalar::zero());
  verifier.add_product({away, away, values[1]});
  VerifierPair pair{{}, {r.begin() + unit.row_variables, r.end()}, values[0]};
  const std::vector<Scalar> row = eq_prefix(r.first(unit.row_variables), unit.rows);
  for (size_t t = 0; t < row.size(); ++t) pair.commitment.emplace_back(unit.first_point + t, row[t]);
  verifier.add_pair(std::move(pair));
  return k;
}

size_t slack_scalars(const SlackRows& slacks) {
  return 1 + bit_check_scalars(1, log2_ceil(slacks.rows()) + log2_ceil(slacks.row_length), 1);
}

// S α = Σ_i [eq(τ, i) (b(i)² − b(i)) + α w(i) b(i)], all rows being one plane.
Expression replay_slacks(const SlackRows& slacks, size_t first_point, std::span<const Scalar> powers, Receiver& channel,
                         ArgumentVerifier& verifier) {
  const unsigned row_variables = log2_ceil(slacks.rows());
  Expression sum = channel.receive("S", 1)[0];
  const BitChallenges challenges =
      BitChallenges::draw(channel.transcript(), 1, row_variables + log2_ceil(slacks.row_length));
  const Scalar alpha = channel.transcript().challenge("alpha");
  const auto weight = [&](std::span<const Scalar> r) {
    const std::vector<Scalar> row = eq_prefix(r.first(row_variables), slacks.rows());
    Scalar out;
    for (size_t p = 0; p < row.size(); ++p) out += row[p] * slacks.weight_at(powers, p, r.subspan(row_variables));
    return std::vector<Scalar>{alpha * out};
  };
  const VerifierBits bits =
      verify_bits(channel, verifier, challenges,
                  {.labels = kSlackLabels, .claim = sum * alpha, .values = 1, .coefficients = weight});
  verifier.require_zero(bits.values[0] - bits.b);
  const std::span<const Scalar> r(bits.r);
  VerifierPair pair{{}, {r.begin() + row_variables, r.end()}, bits.b};
  const Scalar one = Scalar::one();
  add_bit_rows(pair.commitment, first_point, {&one, 1}, eq_prefix(r.first(row_variables), slacks.rows()));
  verifier.add_pair(std::move(pair));
  return sum;
}

}  // namespace zkapex
