#include "attestation/known_rows.h"

#include <algorithm>

#include "algebra/fold.h"
#include "algebra/multilinear.h"
#include "attestation/anchored_rows.h"
#include "base/bits.h"
#include "base/unset_vector.h"

namespace zkapex {

unsigned KnownRows::row_variables() const { return log2_ceil(rows); }
unsigned KnownRows::variables() const { return row_variables() + log2_ceil(row_length); }

Status prove_known(const KnownRows& known, const EarlierModel& model, Sender& channel, ArgumentProver& prover) {
  const std::vector<Scalar> tau = channel.transcript().challenges("tau", known.variables());
  const std::vector<Scalar> row = eq_prefix(std::span(tau).first(known.row_variables()), known.rows);
  const uint64_t at_once = std::max<uint64_t>(1, (uint64_t{1} << 22) / known.row_length);
  ProverPair pair{std::vector<Scalar>(known.row_length),
                  inner_product(row, model.blindings),
                  {tau.begin() + known.row_variables(), tau.end()},
                  {}};
  for (uint64_t first = 0; first < known.rows; first += at_once) {
    const uint64_t count = std::min(at_once, known.rows - first);
    UnsetVector<int64_t> values(count * known.row_length);
    ZKAPEX_CHECK(read_rows(model.rows, first, known.row_length, values, prover.pool()));
    const std::vector<Scalar> folded =
        fold_i64(values, known.row_length, std::span(row).subspan(first, count), prover.pool());
    for (size_t l = 0; l < folded.size(); ++l) pair.vector[l] += folded[l];
  }
  pair.value = channel.send("current", {evaluate(pair.vector, pair.point)})[0];
  return prover.add_pair(std::move(pair));
}

void replay_known(const KnownRows& known, Receiver& channel, ArgumentVerifier& verifier) {
  const std::vector<Scalar> tau = channel.transcript().challenges("tau", known.variables());
  VerifierPair pair{{}, {tau.begin() + known.row_variables(), tau.end()}, channel.receive("current", 1)[0]};
  const std::vector<Scalar> row = eq_prefix(std::span(tau).first(known.row_variables()), known.rows);
  for (size_t t = 0; t < row.size(); ++t) pair.commitment.emplace_back(known.first_point + t, row[t]);
  verifier.add_pair(std::move(pair));
}

}  // namespace zkapex
