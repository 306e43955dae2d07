// The operator on a model in memory, as a client applies it but without a proof.
#pragma once

#include "base/files.h"
#include "learning/model.h"
#include "unlearning/apply.h"

namespace zkapex {

// What the mask's operator makes of the checkpoint's weights, with the curvature store, goes into `model`. Whether the
// step meets the request's rules is for check_rules to say.
[[nodiscard]] Result<ObsSummary> apply_to_model(const Deployment& deployment, const Mask& mask, const Path& store,
                                                const Path& checkpoint, Model& model, ThreadPool& pool);

}  // namespace zkapex
