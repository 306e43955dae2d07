#include "attestation/progress_rows.h"

#include "unlearning/mask.h"

namespace zkapex {

Expression replay_progress(const ProgressUnit& unit, std::span<const Scalar> powers, const RowReader& guide,
                           Receiver& channel, ArgumentVerifier& verifier) {
  const AnchoredUnit& rows = unit.rows;
  Expression k = channel.receive("K", 1)[0];
  const SumcheckClaim end = verify_sumcheck(channel, "progress", rows.variables, 3, k);
  const std::vector<Expression> values = channel.receive("theta, before", 2);
  const std::span<const Scalar> r(end.point);
  const Result<Scalar> drawn = rows_at(rows, guide, r, verifier.pool());
  if (!drawn) verifier.require_zero(Expression(Scalar::one()));
  const Scalar weight = Scalar::from_u64(Guidance::kThousand) * rows.weight_at(powers, r.first(rows.row_variables)) *
                        (drawn ? *drawn : Scalar::zero());
  verifier.require_zero(end.claim - (values[1] - values[0]) * weight);

  const Scalar delta = channel.transcript().challenge("delta");
  VerifierPair pair{{}, {r.begin() + rows.row_variables, r.end()}, values[0] + values[1] * delta};
  const std::vector<Scalar> row = eq_prefix(r.first(rows.row_variables), rows.rows);
  for (size_t t = 0; t < row.size(); ++t) pair.commitment.emplace_back(rows.first_point + t, row[t]);
  for (size_t t = 0; t < row.size(); ++t) pair.commitment.emplace_back(unit.first_before + t, delta * row[t]);
  verifier.add_pair(std::move(pair));
  return k;
}

}  // namespace zkapex
