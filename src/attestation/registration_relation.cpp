#include "attestation/registration_relation.h"

#include "algebra/multilinear.h"
#include "argument/bit_matrix.h"
#include "attestation/public_terms.h"

namespace zkapex {

Verdict RegistrationRelation::sound() const {
  const Layout& layout = statement_.deployment->layout();
  if (statement_.unchanged.size() != layout.unchanged_rows() ||
      statement_.curvature.size() != (plan_.certificate() ? 0 : curvature_rows(layout))) {
    return Rejection{Reason::kStatement, "the commitments do not have the rows of the deployment's layout"};
  }
  return Done{};
}

std::vector<EncodedPoint> RegistrationRelation::statement_rows() const {
  std::vector<EncodedPoint> out = statement_.unchanged;
  out.insert(out.end(), statement_.curvature.begin(), statement_.curvature.end());
  return out;
}

void RegistrationRelation::absorb(Transcript& main, std::span<const EncodedPoint> rows) const {
  ByteWriter cut;
  cut.u8(plan_.certificate() ? 1 : 0);
  cut.u64(plan_.cut().model.size());
  for (const uint64_t part : plan_.cut().model) cut.u64(part);
  for (const uint64_t part : plan_.cut().curvature) cut.u64(part);
  main.absorb("deployment", statement_.deployment->digest());  // layout and all parameters
  main.absorb("client", statement_.client);
  main.absorb("cut", cut.bytes());
  main.absorb("curvature", statement_.curvature);
  main.absorb("bit rows", rows);
  main.absorb("unchanged", statement_.unchanged);
}

void RegistrationRelation::replay(ArgumentVerifier& verifier) const {
  verifier.for_forks("unit", [&](size_t k, Receiver& channel) {
    const RangeUnit& unit = plan_.units()[k];
    Transcript& transcript = channel.transcript();
    const auto challenges = BitChallenges::draw(transcript, unit.planes, unit.variables);
    const Scalar alpha = transcript.challenge("alpha");
    VerifierTerms zero_on_padding{.labels = kUnitLabels, .claim = {}, .values = unit.model ? size_t{1} : 0};
    if (unit.model) {
      zero_on_padding.coefficients = [&](std::span<const Scalar> r) -> std::vector<Scalar> {
        const unsigned slots = unit.variables - plan_.side_variables();
        const Scalar real = real_sum(plan_.geometry(), unit.rows, eq_pairs(r.first(slots)), r.subspan(slots));
        return {alpha * eq(challenges.tau, r) * (Scalar::one() - real)};
      };
    }
    const VerifierBits bits = verify_bits(channel, verifier, challenges, std::move(zero_on_padding));
    const Scalar delta = transcript.challenge("delta");
    const UnitOpening opening(unit, delta, bits.r, bits.kappa);
    VerifierPair pair{{}, opening.point, unit.model ? bits.values[0] + bits.b * delta : bits.b};
    add_bit_rows(pair.commitment, unit.first_bit_row, opening.plane, opening.row);
    verifier.add_pair(std::move(pair));
  });
}

UnitOpening::UnitOpening(const RangeUnit& unit, const Scalar& delta, std::span<const Scalar> r,
                         std::span<const Scalar> kappa)
    : plane(eq_prefix(kappa, unit.planes)),
      row(eq_prefix(r.first(unit.row_variables), unit.rows.rows)),
      point(r.begin() + unit.row_variables, r.end()) {
  if (!unit.model) return;
  const std::vector<Scalar> signs = sign_weights(unit.planes);
  for (unsigned k = 0; k < unit.planes; ++k) plane[k] = delta * plane[k] + signs[k];
}

}  // namespace zkapex
