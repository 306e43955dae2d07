// A guide from two checkpoints: whatever method unlearned one of them, the way from the other becomes a request.
#pragma once

#include "unlearning/mask.h"
#include "weights/checkpoint.h"

namespace zkapex {

class Deployment;

// Δ = scale · (unlearned − base) on the covered weights outside the mask, made ternary block by block. Both have the
// tensors of the layout.
[[nodiscard]] Result<Guide> guide_from(const Deployment& deployment, std::span<const uint64_t> masked,
                                       const Checkpoint& unlearned, const Checkpoint& base, double scale);

}  // namespace zkapex
