// What config.json says of a ViT image classifier or an OPT language model, in Hugging Face's words.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include "base/json.h"
#include "base/result.h"

namespace zkapex {

enum class Activation { kGelu, kGeluTanh, kRelu };

struct VitConfig {
  int64_t image_size = 224, patch_size = 16, channels = 3, classes = 2;
  bool qkv_bias = true;

  [[nodiscard]] int64_t patches() const { return (image_size / patch_size) * (image_size / patch_size); }
};

struct OptConfig {
  int64_t vocabulary = 50272, positions = 2048;
  int64_t embedding = 768;  // word_embed_proj_dim: differs from `hidden` in opt-350m alone
  bool norm_before = true;  // do_layer_norm_before
  bool final_norm = true;   // only with norm_before
  bool tied = true;         // lm_head is the embedding
};

struct ModelConfig {
  int64_t hidden = 768, layers = 12, heads = 12, intermediate = 3072;
  Activation activation = Activation::kGelu;
  double layer_norm_eps = 1e-12;
  double initializer_range = 0.02;
  double hidden_dropout = 0, attention_dropout = 0;
  std::variant<VitConfig, OptConfig> kind;
  std::shared_ptr<const nlohmann::json> document;  // all of config.json, to be saved again

  [[nodiscard]] const VitConfig* vit() const { return std::get_if<VitConfig>(&kind); }
  [[nodiscard]] const OptConfig* opt() const { return std::get_if<OptConfig>(&kind); }
};

// Checks sizes (positive, heads divide hidden, patches divide the image) and refuses what is not implemented.
[[nodiscard]] Result<ModelConfig> parse_model_config(const nlohmann::json& document);
[[nodiscard]] Result<ModelConfig> load_model_config(const std::filesystem::path& directory);

// The same model with another number of classes (ViT only).
[[nodiscard]] Result<ModelConfig> with_classes(const ModelConfig& config, int64_t classes);

}  // namespace zkapex
