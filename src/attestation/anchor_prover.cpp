#include "attestation/anchor_prover.h"

#include "algebra/fold.h"
#include "base/bits.h"
#include "base/first_error.h"
#include "base/unset_vector.h"

namespace zkapex {

namespace {

Wide sum_of_squares(std::span<const int64_t> s, std::span<const int64_t> a) {
  constexpr size_t kAtOnce = 4096;  // squares below 2^114: so many fit 128 bits
  Wide out;
  for (size_t first = 0; first < s.size(); first += kAtOnce) {
    const size_t end = std::min(s.size(), first + kAtOnce);
    uint128 sum = 0;
    uint64_t sizes = 0;
    bool beyond = false;
    for (size_t i = first; i < end; ++i) {
      int64_t away = 0;
      beyond |= __builtin_sub_overflow(s[i], a[i], &away);
      sizes |= static_cast<uint64_t>(away ^ away >> 63);
      sum += static_cast<uint128>(static_cast<int128>(away) * away);
    }
    if (!beyond && sizes >> 57 == 0) {
      out += Wide::from(sum);
      continue;
    }
    for (size_t i = first; i < end; ++i) out += Wide::square_of(static_cast<int128>(s[i]) - a[i]);
  }
  return out;
}

size_t row_length(const AnchoredUnit& unit) { return size_t{1} << (unit.variables - unit.row_variables); }

}  // namespace

Status add_distances(const AnchoredUnit& unit, const RowReader& rows, const RowReader& reference, ThreadPool& pool,
                     std::span<Wide> sums) {
  const size_t n = row_length(unit);
  std::vector<Wide> of_row(unit.rows);
  FirstError failed;
  pool.for_each(unit.rows, [&](size_t t) {
    UnsetVector<int64_t> s(n), a(n);
    Status read = rows(unit.first_row + t, s);
    if (read) read = reference(unit.first_row + t, a);
    failed.note(read);
    if (read) of_row[t] = sum_of_squares(s, a);
  });
  for (const AnchoredRun& run : unit.runs) {
    for (uint64_t t = run.first_row; t < run.first_row + run.rows; ++t) sums[run.group] += of_row[t];
  }
  return failed.status();
}

Status prove_anchored(const AnchoredUnit& unit, std::span<const Scalar> powers, const RowReader& rows,
                      const RowReader& reference, std::span<const Scalar> blindings, Sender& channel,
                      ArgumentProver& prover) {
  const size_t n = row_length(unit);
  ThreadPool& pool = prover.pool();
  UnsetVector<int64_t> away(unit.rows * n);
  ZKAPEX_CHECK(read_rows(reference, unit.first_row, n, away, pool));
  std::vector<Wide> of_row(unit.rows);
  FirstError failed;
  pool.for_each(unit.rows, [&](size_t t) {
    std::vector<int64_t> s(n);
    failed.note(rows(unit.first_row + t, s));
    const auto a = std::span(away).subspan(t * n, n);
    of_row[t] = sum_of_squares(s, a);
    for (size_t l = 0; l < n; ++l) a[l] = s[l] - a[l];
  });
  ZKAPEX_CHECK(failed.status());
  const std::vector<Scalar> weights = unit.weights(powers);
  Scalar k;
  for (size_t t = 0; t < unit.rows; ++t) k += weights[t] * to_scalar(of_row[t]);
  k = channel.send("K", {k})[0];

  enum : unsigned { kWeight, kAway };
  Sumcheck sumcheck{.variables = unit.variables,
                    .degree = 3,
                    .tables = {{SumcheckTable::Blocks{weights, unit.variables - unit.row_variables}},
                               {std::span<const int64_t>(away)}},
                    .terms = {{Scalar::one(), {kWeight, kAway, kAway}}},
                    .eq_point = {},
                    .bits = {}};
  const SumcheckProof end = prove_sumcheck(channel, "anchor", std::move(sumcheck), k, pool);
  const std::span<const Scalar> r(end.point);
  const std::vector<Scalar> row = eq_prefix(r.first(unit.row_variables), unit.rows);
  away = {};
  ProverPair pair{{}, inner_product(row, blindings), {r.begin() + unit.row_variables, r.end()}, {}};
  ZKAPEX_TRY(pair.vector, fold_unit(unit, rows, row, pool));
  const Scalar theta = evaluate(pair.vector, pair.point), base = theta - end.tables[kAway];
  const std::vector<Scalar> sent = channel.send("theta, d^2", {theta, end.tables[kAway].square()},
                                                {{Scalar::zero(), end.tables[kWeight]}}, end.claim);
  prover.add_product({sent[0] - base, sent[0] - base, sent[1]});
  pair.value = sent[0];
  return prover.add_pair(std::move(pair));
}

Status prove_slacks(const SlackRows& slacks, const SlackBits& bits, std::span<const Scalar> powers,
                    std::span<const Scalar> blindings, Sender& channel, ArgumentProver& prover) {
  const size_t n = slacks.row_length;
  const unsigned row_variables = log2_ceil(slacks.rows());
  const Scalar sum = channel.send("S", {bits.sum(powers)})[0];
  const BitChallenges challenges = BitChallenges::draw(channel.transcript(), 1, row_variables + log2_ceil(n));
  const Scalar alpha = channel.transcript().challenge("alpha");

  std::vector<uint8_t> plane, entries(slacks.rows() * n);
  std::vector<Scalar> weights(slacks.rows() * n);
  for (size_t p = 0; p < slacks.rows(); ++p) {
    const std::span<const uint8_t> packed = bits.bytes(p);
    plane.insert(plane.end(), packed.begin(), packed.end());
    for (size_t i = 0; i < n; ++i) entries[p * n + i] = packed[i / 8] >> (i % 8) & 1;
    std::ranges::copy(slacks.weights(powers, p), weights.begin() + static_cast<ptrdiff_t>(p * n));
  }
  enum : unsigned { kWeight, kBits };
  ProverTerms others{.labels = kSlackLabels,
                     .tables = {{weights}, {std::span<const uint8_t>(entries)}},
                     .terms = {{alpha, {kWeight, kBits}}},
                     .claim = alpha * sum,
                     .end = [&](const SumcheckProof& end) -> ProverTerms::End {
                       return {{end.planes[0]}, {alpha * end.tables[kWeight]}};
                     }};
  const ProverBits proved = prove_bits(channel, prover, challenges, {std::move(plane)}, std::move(others));
  const std::span<const Scalar> r(proved.r);
  const Scalar one = Scalar::one();
  ProverPair pair = fold_bit_rows({bits.words(), bits.words_per_row(), n, blindings}, {&one, 1},
                                  eq_prefix(r.first(row_variables), slacks.rows()), prover.pool());
  pair.point.assign(r.begin() + row_variables, r.end());
  pair.value = proved.b;
  return prover.add_pair(std::move(pair));
}

}  // namespace zkapex
