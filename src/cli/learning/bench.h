// What the learning room's speed is compared with: the same model written and trained the usual way with libtorch.
#pragma once

#include <functional>
#include <memory>

#include "learning/model.h"

namespace zkapex::cli {

// Each call is one step of AdamW on the batch, with libtorch's own modules and optimizer.
[[nodiscard]] std::function<void()> plain_training_step(const ModelConfig& config, const Batch& batch, double rate);

}  // namespace zkapex::cli
