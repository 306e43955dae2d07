#include "attestation/registration_statement.h"

#include "algebra/multilinear.h"
#include "argument/bit_matrix.h"

namespace zkapex {

Transcript registration_transcript(const RegistrationStatement& statement, const RegistrationPlan& plan,
                                   std::span<const EncodedPoint> bit_rows, const EncodedPoint& pads,
                                   Transcript::Manifest* manifest) {
  Transcript t("zkapex registration 1", manifest);
  ByteWriter cut;
  cut.u8(plan.certificate() ? 1 : 0);
  cut.u64(plan.cut().model.size());
  for (const uint64_t rows : plan.cut().model) cut.u64(rows);
  for (const uint64_t rows : plan.cut().curvature) cut.u64(rows);
  t.absorb("deployment", statement.deployment->digest());  // layout and all parameters
  t.absorb("client", statement.client);
  t.absorb("cut", cut.bytes());
  t.absorb("curvature", statement.curvature);
  t.absorb("bit rows", bit_rows);
  t.absorb("unchanged", statement.unchanged);
  t.absorb("pads", {&pads, 1});
  return t;
}

std::vector<Scalar> unit_plane_coefficients(const RangeUnit& unit, const Scalar& delta, std::span<const Scalar> kappa) {
  std::vector<Scalar> out = eq_table(kappa);
  out.resize(unit.planes);
  if (!unit.model) return out;
  const std::vector<Scalar> signs = sign_weights(unit.planes);
  for (unsigned k = 0; k < unit.planes; ++k) out[k] = delta * out[k] + signs[k];
  return out;
}

}  // namespace zkapex
