// A mask from scores that were computed here.
#pragma once

#include <string>
#include <vector>

#include "learning/tensor.h"
#include "unlearning/mask.h"

namespace zkapex {

// The `count` highest of `scores`, one tensor for each covered weight in the order of the layout. With a fresh nonce.
[[nodiscard]] Result<Mask> score_mask(const std::vector<Tensor>& scores, const Deployment& deployment, uint64_t count,
                                      const std::string& window);

}  // namespace zkapex
