// The public statement of a window: which client did what to which committed model.
#pragma once

#include "argument/transcript.h"
#include "attestation/window_plan.h"

namespace zkapex {

struct WindowStatement {
  const Deployment* deployment = nullptr;
  const Mask* mask = nullptr;
  std::string client;
  Sha256::Digest registration{};  // the ledger's entry
  Sha256::Digest start{};         // of the model commitment before the window: its rows and how they came about
  // Com(θ_p) of the covered tensors, Com(C_p), and the rows of the tensors that the operator leaves alone.
  std::vector<EncodedPoint> model, curvature, unchanged;
};

// Everything that is committed before the first challenge, but for the pads. `rows`: the first rows of the proof.
void absorb_window(Transcript& t, const WindowStatement& statement, const WindowPlan& plan,
                   std::span<const EncodedPoint> rows);

// Weights of the pair at r (docs/window.md, section 5): of θ_u, of θ_p, of the planes' sum at κ, and of each slack
// plane and the cap plane for itself (else their values at r would be free).
struct OpeningWeights {
  Scalar theta_u, theta_p, planes;
  std::vector<Scalar> slacks;
  OpeningWeights(const Scalar& delta, size_t slack_count);
};
// The coefficient of each plane's rows in that combination.
[[nodiscard]] std::vector<Scalar> plane_coefficients(const WindowSegment& segment, const OpeningWeights& weights,
                                                     std::span<const Scalar> kappa);

}  // namespace zkapex
