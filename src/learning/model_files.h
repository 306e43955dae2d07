// Model directories: config.json and safetensors as Hugging Face writes them, and adapters that cannot be merged.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>

#include "learning/model.h"

namespace zkapex {

struct LoadOptions {
  Placement placement = {};
  // A classifier for so many classes; one of another size in the checkpoint is replaced by a new one.
  std::optional<int64_t> classes = {};
  uint64_t seed = 0;                   // of a new classifier
  std::filesystem::path weights = {};  // a checkpoint in place of the directory's own: what `unlearn` writes
};

// Every parameter must be there with its shape, and nothing else: the first tensor that does not fit is named.
[[nodiscard]] Result<std::unique_ptr<Model>> load_model(const std::filesystem::path& directory,
                                                        const LoadOptions& options = {});

// Writes config.json, model.safetensors and, for a model with AdaptFormer branches, adaptformer.json and
// adaptformer.safetensors. What else Hugging Face reads beside them (preprocessor, tokenizer) is copied from `source`
// if given.
[[nodiscard]] Status save_model(const Model& model, const std::filesystem::path& directory,
                                const std::filesystem::path& source = {});

}  // namespace zkapex
