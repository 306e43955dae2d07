#include "attestation/window_statement.h"

#include "algebra/multilinear.h"

namespace zkapex {

void absorb_window(Transcript& t, const WindowStatement& statement, const WindowPlan& plan,
                   std::span<const EncodedPoint> rows) {
  ByteWriter segmentation;
  for (const uint64_t part : plan.segmentation()) segmentation.u64(part);
  t.absorb("operator", name(plan.op()));
  t.absorb("deployment", statement.deployment->digest());  // layout and all parameters
  t.absorb("segmentation", segmentation.bytes());
  t.absorb("mask", statement.mask->digest());
  t.absorb("window", statement.mask->window);
  t.absorb("client", statement.client);
  t.absorb("registration", statement.registration);
  t.absorb("nonce", statement.mask->nonce);
  t.absorb("start", statement.start);
  t.absorb("model", statement.model);
  t.absorb("curvature", statement.curvature);
  const size_t weights = std::min(rows.size(), plan.weight_rows());  // none where nonces are hedged
  t.absorb("theta_u", rows.first(weights));
  t.absorb("bit rows", rows.subspan(weights));
  t.absorb("unchanged", statement.unchanged);
}

OpeningWeights::OpeningWeights(const Scalar& delta, size_t slack_count)
    : theta_u(Scalar::one()), theta_p(delta), planes(delta * delta) {
  Scalar power = planes;
  for (size_t k = 0; k < slack_count; ++k) slacks.push_back(power *= delta);
}

std::vector<Scalar> plane_coefficients(const WindowSegment& segment, const OpeningWeights& weights,
                                       std::span<const Scalar> kappa) {
  std::vector<Scalar> out = eq_prefix(kappa, segment.planes);
  for (unsigned k = 0; k < segment.planes; ++k) out[k] = out[k] * weights.planes + weights.slacks[k];
  return out;
}

}  // namespace zkapex
