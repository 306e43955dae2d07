// AdaptFormer: a small trainable branch beside each MLP of a frozen model, reading the residual before its norm.
#pragma once

#include <filesystem>

#include "learning/model.h"
#include "weights/checkpoint.h"

namespace zkapex {

struct AdaptFormerOptions {
  int64_t bottleneck = 64;
  double scale = 0.1;
  uint64_t seed = 0;
};

// Down-projections uniform after Kaiming, up-projections zero: the model computes the same until trained.
Status add_adaptformer(Model& model, const AdaptFormerOptions& options);

[[nodiscard]] std::vector<Parameter> adaptformer_parameters(const Model& model);

// adaptformer.json and adaptformer.safetensors of a model directory. Loading does nothing where there are none; the
// branches' weights are those of the checkpoint `weights` if it has them, as a folder's has.
[[nodiscard]] Status save_adaptformer(const Model& model, const std::filesystem::path& directory);
[[nodiscard]] Status load_adaptformer(Model& model, const std::filesystem::path& directory, const Checkpoint& weights);
// Whether a tensor of that name belongs to a branch.
[[nodiscard]] bool is_of_branch(std::string_view name);

}  // namespace zkapex
