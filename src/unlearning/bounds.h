// What the sums of a request's window are bounded by: the deployment's bounds, and what a guide adds to them.
#pragma once

#include "unlearning/deployment.h"
#include "unlearning/mask.h"

namespace zkapex {

struct WindowBounds {
  Wide residual;            // Y_blk = ⌊((μ + t) ε 2^f)²⌋
  uint32_t slack_bits = 0;  // NB: of Y_blk, and of every rule's slack
};

// Refused: pulls and rules with which a sum could wrap around in the field, or a slack has no room in its bits.
[[nodiscard]] Result<WindowBounds> window_bounds(const Deployment& deployment, const Mask& mask);

// Bits of the slack of every progress that an update keeps: 1000 Σ Δ x over any covered weights.
[[nodiscard]] uint32_t progress_bits(const Deployment& deployment);

}  // namespace zkapex
