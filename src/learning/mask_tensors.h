// Between the layout's coordinates and the tensors of a model.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "learning/model.h"
#include "unlearning/deployment.h"
#include "unlearning/mask.h"

namespace zkapex {

// The names of the covered tensors in the order of the layout, which is the order of its Fisher blocks. An error when
// the model does not have the layout's tensors, or one that is covered is not a linear map of its blocks.
[[nodiscard]] Result<std::vector<std::string>> covered_by(Model& model, const Layout& layout);

// One uint8 tensor per covered weight, in that order.
[[nodiscard]] Result<std::vector<Tensor>> mask_tensors(const Mask& mask, const Deployment& deployment);
// The same of coordinates that are known to be the layout's, in increasing order.
[[nodiscard]] std::vector<Tensor> support_tensors(std::span<const uint64_t> support, const Layout& layout);
// Δ of a request with a guide, one float tensor per covered weight, in that order.
[[nodiscard]] Result<std::vector<Tensor>> guide_tensors(const Mask& request, const Deployment& deployment);

}  // namespace zkapex
