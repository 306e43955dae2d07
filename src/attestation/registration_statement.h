// The public statement of a registration and the beginning of its transcript.
#pragma once

#include "argument/transcript.h"
#include "attestation/registration_plan.h"

namespace zkapex {

struct RegistrationStatement {
  const Deployment* deployment = nullptr;
  std::string client;
  std::vector<EncodedPoint> unchanged;  // rows of the tensors that no operator touches
  std::vector<EncodedPoint> curvature;  // Com(C_p) without a certificate; with one it follows from the bit rows
};

[[nodiscard]] Transcript registration_transcript(const RegistrationStatement& statement, const RegistrationPlan& plan,
                                                 std::span<const EncodedPoint> bit_rows, const EncodedPoint& pads,
                                                 Transcript::Manifest* manifest = nullptr);

// The coefficient of each plane's rows in what a unit opens: Σ_k eq(κ, k) (plane k), for weights δ times that and their
// value Σ_k ±2^k (plane k) besides.
[[nodiscard]] std::vector<Scalar> unit_plane_coefficients(const RangeUnit& unit, const Scalar& delta,
                                                          std::span<const Scalar> kappa);

}  // namespace zkapex
