#include "attestation/registration_relation.h"

#include "algebra/multilinear.h"
#include "attestation/public_terms.h"

namespace zkapex {

Verdict RegistrationRelation::sound() const {
  for (const ProjectedRows& projected : plan_.projections()) {
    ZKAPEX_CHECK(projected.shape.sound());
  }
  return Done{};
}

void RegistrationRelation::absorb(Transcript& main, std::span<const EncodedPoint> rows) const {
  ByteWriter cut;
  cut.u64(plan_.cut().size());
  for (const uint64_t part : plan_.cut()) cut.u64(part);
  main.absorb("deployment", statement_.deployment->digest());  // layout and all parameters
  main.absorb("client", statement_.client);
  main.absorb("cut", cut.bytes());
  // Nonces are hedged by the statement alone, before there are rows.
  const auto part = [&](size_t first, size_t count) { return rows.empty() ? rows : rows.subspan(first, count); };
  main.absorb("model", part(0, plan_.model_rows()));
  main.absorb("curvature", part(plan_.model_rows(), plan_.curvature_rows()));
  main.absorb("unchanged", part(plan_.model_rows() + plan_.curvature_rows(), plan_.unchanged_rows()));
}

void RegistrationRelation::replay(ArgumentVerifier& verifier) const {
  const Scalar challenge = verifier.main().challenge("projection");
  verifier.absorb_rows("projections", plan_.shape().later_rows);
  const std::vector<PaddedSegment>& padded = plan_.padded();
  size_t projection = 0, first = padded.size();
  std::optional<TernaryMatrix> matrix;
  verifier.for_forks("unit", [&](size_t k, Receiver& channel) {
    if (k < padded.size()) return replay_padding(padded[k], channel, verifier);
    const ProjectedRows& projected = plan_.projections()[projection];
    if (k == first) matrix = draw_projection(projected.shape, challenge, projected.number);
    replay_projection(projected.shape, k - first, *matrix, projected.rows, channel, verifier);
    if (k + 1 < first + projected.shape.forks()) return;
    first = k + 1;
    ++projection;
  });
}

// 0 = Σ_i eq(τ, i) (1 − real(i)) θ(i)
void RegistrationRelation::replay_padding(const PaddedSegment& segment, Receiver& channel,
                                          ArgumentVerifier& verifier) const {
  const std::vector<Scalar> tau = channel.transcript().challenges("tau", segment.variables);
  const SumcheckClaim end = verify_sumcheck(channel, "padding", segment.variables, 3, {});
  const std::span<const Scalar> r(end.point);
  const Expression theta = channel.receive("theta", 1)[0];
  const unsigned slots = segment.variables - plan_.side_variables();
  const Scalar real = real_sum(plan_.geometry(), segment.rows, eq_pairs(r.first(slots)), r.subspan(slots));
  verifier.require_zero(end.claim - theta * (eq(tau, r) * (Scalar::one() - real)));
  VerifierPair pair{{}, {r.begin() + segment.row_variables, r.end()}, theta};
  const std::vector<Scalar> row = eq_prefix(r.first(segment.row_variables), segment.rows.rows);
  for (size_t t = 0; t < row.size(); ++t) pair.commitment.emplace_back(segment.rows.first_row + t, row[t]);
  verifier.add_pair(std::move(pair));
}

}  // namespace zkapex
