// Everything this program computes of a model and a few samples, in one file: to be compared with another framework.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "learning/layers.h"

namespace zkapex {

struct ProbeOptions {
  int64_t block = 16;
  double relative_damping = 0.01;  // times the mean diagonal of each block
  // A safetensors file with obs_mask.<first covered weight> [blocks, block]: adds the Group-OBS change under it.
  std::optional<std::filesystem::path> mask_from = {};
  std::vector<std::string> covered = {};  // patterns; the MLPs' matrices when empty
  at::Device device = at::kCPU;
};

// `input` holds pixel_values and labels, or input_ids. Keys of the result, with names of weights as transformers has
// them in memory: logits, loss, and per covered weight grad.*, fisher_diag.*, saliency.*; for the first of them
// block_fisher.* [blocks, B, B] and, with a mask, obs_delta.* (double, from gradients in double).
[[nodiscard]] Result<std::vector<Parameter>> probe(const std::filesystem::path& model_directory,
                                                   const std::filesystem::path& input, const ProbeOptions& options);

}  // namespace zkapex
