// Tensor names: those of checkpoints on the Hub, which this program uses, and the others under which the same tensors
// are met.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/model_config.h"

namespace zkapex {

// From the names of transformers 5 in memory, of a bare encoder (no "vit."), of a bare decoder (no "model.").
[[nodiscard]] std::string hub_name(const ModelConfig& config, std::string_view name);
// The name of transformers 5 in memory: "vit.encoder.layer.0.intermediate.dense.weight" is
// "vit.layers.0.mlp.fc1.weight".
[[nodiscard]] std::string memory_name(const ModelConfig& config, std::string_view hub_name);
// Tensors that checkpoints carry and the model does not compute with (ViT's pooler, a second copy of tied weights).
[[nodiscard]] bool is_unused(const ModelConfig& config, std::string_view hub_name);

// How deep a parameter lies, for rates that decay by layer: 0 embeddings, 1 + i block i, layers + 1 what follows.
[[nodiscard]] int64_t depth_of(const ModelConfig& config, std::string_view hub_name);

// True when `name` matches one of the patterns: text in which each '*' stands for any characters.
[[nodiscard]] bool matches_any(std::string_view name, const std::vector<std::string>& patterns);

}  // namespace zkapex
