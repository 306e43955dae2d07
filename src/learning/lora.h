// LoRA: W + scale · B A with small matrices A and B, trained while W stays; PEFT's files; the sum as a plain weight.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "learning/model.h"

namespace zkapex {

struct LoraOptions {
  int64_t rank = 16;
  double alpha = 32, dropout = 0.05;
  // Patterns over the weights of the blocks' linear maps; all six maps of every block when empty.
  std::vector<std::string> targets = {};
  uint64_t seed = 0;
};

// A uniform after Kaiming, B zero: the model computes the same until trained. A pattern without a match is an error.
[[nodiscard]] Status add_lora(Model& model, const LoraOptions& options);
[[nodiscard]] std::vector<Parameter> lora_parameters(Model& model);
// Adds every branch to its weight and drops it.
void merge_lora(Model& model);

// adapter_config.json and adapter_model.safetensors. With `with_classifier` the classifier is saved beside, as a module
// that was trained in full.
[[nodiscard]] Status save_lora(Model& model, const LoraOptions& options, const std::filesystem::path& directory,
                               bool with_classifier);
// Attaches the branches of PEFT's files; modules saved in full replace the model's. A key that matches nothing, a rank
// that does not fit and an option that changes the arithmetic and is not known are errors.
[[nodiscard]] Status load_lora(Model& model, const std::filesystem::path& directory);

}  // namespace zkapex
