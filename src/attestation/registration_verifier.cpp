#include "attestation/registration_verifier.h"

#include "argument/plane_rounds.h"
#include "argument/sumcheck.h"
#include "attestation/derived_rows.h"
#include "attestation/public_terms.h"

namespace zkapex {

namespace {

void verify_unit(const RegistrationPlan& plan, const RangeUnit& unit, ArgumentVerifier& verifier, Receiver& channel,
                 std::vector<VerifierPair>& pairs, std::vector<VerifierProduct>& products) {
  Transcript& transcript = channel.transcript();
  const std::vector<Scalar> tau_k = transcript.challenges("tau_k", unit.plane_variables);
  const std::vector<Scalar> tau = transcript.challenges("tau", unit.variables);
  const Scalar alpha = transcript.challenge("alpha");
  SumcheckClaim end = verify_sumcheck(channel, "bits", unit.variables, 3, Expression());
  const std::vector<Scalar>& r = end.point;
  const std::vector<Expression> sent = channel.receive("evaluations", unit.model ? 2 : 1);
  const Scalar e = eq(tau, r);
  end.claim += sent.back() * -e;
  if (unit.model) {
    const unsigned slots = unit.variables - plan.side_variables();
    const auto r_b = std::span(r).first(slots), r_j = std::span(r).subspan(slots);
    const Scalar padding = Scalar::one() - real_sum(plan.geometry(), unit.rows, eq_pairs(r_b), r_j);
    end.claim += sent[0] * -(alpha * e * padding);
  }
  verifier.require_zero(std::move(end.claim));
  const VerifierPlanes planes = verify_planes(channel, verifier, tau_k, sent.back());
  products.push_back({planes.b, planes.b, planes.square});

  const Scalar delta = transcript.challenge("delta");
  VerifierPair pair{{}, {r.begin() + unit.row_variables, r.end()}, unit.model ? sent[0] + planes.b * delta : planes.b};
  const std::vector<Scalar> row = eq_table(std::span(r).first(unit.row_variables));
  const std::vector<Scalar> plane = unit_plane_coefficients(unit, delta, planes.kappa);
  for (unsigned k = 0; k < unit.planes; ++k) {
    for (size_t t = 0; t < unit.rows.rows; ++t) {
      pair.commitment.emplace_back(unit.first_bit_row + k * unit.rows.rows + t, plane[k] * row[t]);
    }
  }
  pairs.push_back(std::move(pair));
}

}  // namespace

OpeningClaim replay_registration(const RegistrationStatement&, const RegistrationPlan& plan, const ProofShape& shape,
                                 const Proof& proof, Transcript& main) {
  ArgumentVerifier verifier(shape, proof);
  std::vector<Transcript> forks;
  std::vector<VerifierPair> pairs;
  std::vector<VerifierProduct> products;
  for (size_t k = 0; k < plan.units().size(); ++k) {
    forks.push_back(main.fork("unit", k));
    Receiver channel = verifier.fork(k, forks.back());
    verify_unit(plan, plan.units()[k], verifier, channel, pairs, products);
  }
  return verifier.reduce(main, forks, pairs, products);
}

namespace {

// As many as the layout has, and points: also those that take no part in the proof.

Verdict check_statement_rows(const RegistrationStatement& statement, const RegistrationPlan& plan, ThreadPool& pool) {
  const Layout& layout = statement.deployment->layout();
  if (statement.unchanged.size() != layout.unchanged_rows() ||
      statement.curvature.size() != (plan.certificate() ? 0 : curvature_rows(layout))) {
    return Rejection{Reason::kStatement, "the commitments do not have the rows of the deployment's layout"};
  }
  for (const std::vector<EncodedPoint>* rows : {&statement.unchanged, &statement.curvature}) {
    if (auto points = decode_rows(*rows, pool); !points) return points.error();
  }
  return Done{};
}

}  // namespace

Result<PointSum, Rejection> check_registration(const RegistrationStatement& statement, const RegistrationPlan& plan,
                                               const Proof& proof, ThreadPool& pool) {
  ZKAPEX_CHECK(check_statement_rows(statement, plan, pool));
  const ProofShape shape = plan.shape();
  ZKAPEX_TRY(const std::vector<Point> rows, decode_rows(proof.rows, pool));
  Transcript main = registration_transcript(statement, plan, proof.rows, proof.pads);
  const OpeningClaim claim = replay_registration(statement, plan, shape, proof, main);
  return settle(main, claim, proof, rows);
}

Result<RegisteredRows, Rejection> registered_rows(const RegistrationStatement& statement, const RegistrationPlan& plan,
                                                  const Proof& proof, ThreadPool& pool) {
  ZKAPEX_CHECK(check_statement_rows(statement, plan, pool));
  RegisteredRows out;
  out.curvature = statement.curvature;
  for (const RangeUnit& unit : plan.units()) {
    const auto planes = std::span(proof.rows).subspan(unit.first_bit_row, unit.bit_rows());
    ZKAPEX_TRY(const std::vector<EncodedPoint> rows, value_rows(planes, unit.rows.rows, unit.planes, pool));
    std::vector<EncodedPoint>& to = unit.model ? out.model : out.curvature;
    to.insert(to.end(), rows.begin(), rows.end());
  }
  return out;
}

}  // namespace zkapex
