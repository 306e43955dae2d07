#include "attestation/registration_relation.h"

#include "algebra/multilinear.h"
#include "attestation/public_terms.h"

namespace zkapex {

namespace {

// That guided windows started from, window after window.
std::vector<EncodedPoint> rows_before(const UpdateTerms& update) {
  std::vector<EncodedPoint> out;
  for (const PastWindow& window : update.windows) out.insert(out.end(), window.before.begin(), window.before.end());
  return out;
}

}  // namespace

Verdict RegistrationRelation::sound() const {
  for (const ProjectedRows& projected : plan_.projections()) {
    ZKAPEX_CHECK(projected.shape.sound());
  }
  if (statement_.deployment->anchor() && statement_.base == nullptr)
    return Rejection{Reason::kStatement, "the base model of the deployment's anchor is not there"};
  if (statement_.update == nullptr) return Done{};
  for (const PastWindow& window : statement_.update->windows) {
    if (window.before.size() != (window.mask->guidance ? plan_.model_rows() : 0))
      return Rejection{Reason::kStatement, "the model before a guided window is not there"};
  }
  if (statement_.update->current.size() != plan_.model_rows())
    return Rejection{Reason::kStatement, "the model that the update goes on from is not there"};
  return Done{};
}

std::vector<EncodedPoint> RegistrationRelation::statement_rows() const {
  if (statement_.update == nullptr) return {};
  std::vector<EncodedPoint> out = rows_before(*statement_.update);
  out.insert(out.end(), statement_.update->current.begin(), statement_.update->current.end());
  return out;
}

RowReader covered_reference(const RegistrationStatement& statement) {
  if (statement.update == nullptr) return statement.base->covered;
  return reference_rows(statement.deployment->layout(), *statement.update, statement.base->covered);
}

void RegistrationRelation::absorb(Transcript& main, std::span<const EncodedPoint> rows) const {
  ByteWriter cut;
  cut.u64(plan_.cut().size());
  for (const uint64_t part : plan_.cut()) cut.u64(part);
  main.absorb("deployment", statement_.deployment->digest());  // layout and all parameters
  main.absorb("client", statement_.client);
  if (const UpdateTerms* update = statement_.update) {
    ByteWriter masks;
    for (const PastWindow& window : update->windows) masks.raw(window.mask->digest());
    main.absorb("registration", update->registration);
    main.absorb("start", update->start);
    main.absorb("masks", masks.bytes());
    main.absorb("before", rows_before(*update));
    main.absorb("current", update->current);
  }
  main.absorb("cut", cut.bytes());
  // Nonces are hedged by the statement alone, before there are rows.
  const auto part = [&](size_t first, size_t count) { return rows.empty() ? rows : rows.subspan(first, count); };
  main.absorb("model", part(0, plan_.model_rows()));
  main.absorb("curvature", part(plan_.model_rows(), plan_.curvature_rows()));
  main.absorb("unchanged", part(plan_.model_rows() + plan_.curvature_rows(), plan_.unchanged_rows()));
  main.absorb("slacks", part(plan_.model_rows() + plan_.curvature_rows() + plan_.unchanged_rows(), plan_.slack_rows()));
}

void RegistrationRelation::replay(ArgumentVerifier& verifier) const {
  const Scalar challenge = verifier.main().challenge("projection");
  verifier.absorb_rows("projections", plan_.shape().later_rows);
  const std::vector<PaddedSegment>& padded = plan_.padded();
  const std::optional<BoundedSums>& sums = plan_.sums();
  std::vector<Scalar> powers;
  if (sums) powers = draw_anchor(verifier.main(), sums->groups());
  size_t projection = 0, first = padded.size() + (sums ? sums->forks() : 0);
  std::optional<TernaryMatrix> matrix;
  Expression total;
  verifier.for_forks("unit", [&](size_t k, Receiver& channel) {
    if (k < padded.size()) return replay_padding(padded[k], channel, verifier);
    if (projection == 0 && k < first) {
      total += replay_sum(k - padded.size(), powers, channel, verifier);
      return;
    }
    if (projection == plan_.projections().size()) return replay_known(*plan_.current(), channel, verifier);
    const ProjectedRows& projected = plan_.projections()[projection];
    if (k == first) matrix = draw_projection(projected.shape, challenge, projected.number);
    replay_projection(projected.shape, k - first, *matrix, projected.rows, channel, verifier);
    if (k + 1 < first + projected.shape.forks()) return;
    first = k + 1;
    ++projection;
  });
  if (!sums) return;
  // Σ_k γ^k (sum_k + slack_k) = Σ_k γ^k (the largest that it may be): Σ (θ − a)² <= B, 1000 Σ Δ (p − θ) <= −π ΣΔ²
  for (size_t k = 0; k < sums->bounds.size(); ++k) total += -(powers[k] * to_scalar(sums->bounds[k]));
  for (size_t k = 0; k < sums->progress.size(); ++k)
    total += powers[sums->bounds.size() + k] * to_scalar(sums->progress[k].least);
  verifier.require_zero(std::move(total));
}

Expression RegistrationRelation::replay_sum(size_t fork, std::span<const Scalar> powers, Receiver& channel,
                                            ArgumentVerifier& verifier) const {
  const BoundedSums& sums = *plan_.sums();
  if (fork < sums.covered_units)
    return replay_anchored(sums.units[fork], powers, covered_reference(statement_), channel, verifier);
  if (fork < sums.units.size())
    return replay_anchored(sums.units[fork], powers, statement_.base->others, channel, verifier);
  if (fork + 1 == sums.forks()) return replay_slacks(sums.slacks, sums.first_slack_row, powers, channel, verifier);
  const ProgressUnit& unit = sums.progress_units[fork - sums.units.size()];
  const PastGuide guide(statement_.deployment->layout(), *statement_.update, unit.window);
  return replay_progress(unit, powers, guide.rows(), channel, verifier);
}

// 0 = Σ_i eq(τ, i) u′(i) θ(i), u′ being 1 on padding and on what was removed
void RegistrationRelation::replay_padding(const PaddedSegment& segment, Receiver& channel,
                                          ArgumentVerifier& verifier) const {
  const std::vector<Scalar> tau = channel.transcript().challenges("tau", segment.variables);
  const SumcheckClaim end = verify_sumcheck(channel, "padding", segment.variables, 3, {});
  const std::span<const Scalar> r(end.point);
  const Expression theta = channel.receive("theta", 1)[0];
  const unsigned slots = segment.variables - plan_.side_variables();
  Scalar held = Scalar::one() - real_sum(plan_.geometry(), segment.rows, eq_pairs(r.first(slots)), r.subspan(slots));
  held += indices_at(segment.removed, plan_.side_variables(), r);
  verifier.require_zero(end.claim - theta * (eq(tau, r) * held));
  VerifierPair pair{{}, {r.begin() + segment.row_variables, r.end()}, theta};
  const std::vector<Scalar> row = eq_prefix(r.first(segment.row_variables), segment.rows.rows);
  for (size_t t = 0; t < row.size(); ++t) pair.commitment.emplace_back(segment.rows.first_row + t, row[t]);
  verifier.add_pair(std::move(pair));
}

}  // namespace zkapex
