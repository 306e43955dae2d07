// The provider's base model θ0: what a deployment's anchor names, and what registrations are compared with.
#pragma once

#include "attestation/registration_relation.h"
#include "unlearning/deployment.h"
#include "weights/checkpoint.h"

namespace zkapex {

// The same deployment, anchored at θ0. Tensors whose name matches a pattern are free, and need not be θ0's; of the
// others those that θ0 does not have count as added. Reads all of θ0.
[[nodiscard]] Result<Deployment> anchor_deployment(const Deployment& deployment, const Checkpoint& base,
                                                   const AnchorLimits& limits, const CoverPatterns& free,
                                                   ThreadPool& pool);

// θ0 by rows; an error unless it is the model that the deployment's anchor names. The deployment outlives it.
[[nodiscard]] Result<BaseRows> open_base(const Path& path, const Deployment& deployment, ThreadPool& pool);

// The same where a command has an option --base: none, and no path, without an anchor.
[[nodiscard]] Result<std::optional<BaseRows>> open_base_option(const Path& path, const Deployment& deployment,
                                                               ThreadPool& pool);

}  // namespace zkapex
