#include "learning/vit.h"

#include "learning/torch.h"

namespace zkapex {

Vit::Vit(const ModelConfig& config, const Placement& placement) : Model(config, placement) {
  const VitConfig& vit = *config_.vit();
  const int64_t width = config_.hidden;
  class_token_ = parameter("vit.embeddings.cls_token", {1, 1, width});
  positions_ = parameter("vit.embeddings.position_embeddings", {1, vit.patches() + 1, width});
  const std::string patches = "vit.embeddings.patch_embeddings.projection";
  patch_weight_ = parameter(patches + ".weight", {width, vit.channels, vit.patch_size, vit.patch_size});
  patch_bias_ = parameter(patches + ".bias", {width});
  for (int64_t i = 0; i < config_.layers; ++i) {
    const std::string at = fmt::format("vit.encoder.layer.{}.", i);
    Block block;
    block.attention_norm = layer_norm(at + "layernorm_before");
    block.attention = {.query = linear(at + "attention.attention.query", width, width, vit.qkv_bias),
                       .key = linear(at + "attention.attention.key", width, width, vit.qkv_bias),
                       .value = linear(at + "attention.attention.value", width, width, vit.qkv_bias),
                       .output = linear(at + "attention.output.dense", width, width),
                       .heads = config_.heads,
                       .dropout = config_.attention_dropout};
    block.mlp_norm = layer_norm(at + "layernorm_after");
    block.fc1 = linear(at + "intermediate.dense", width, config_.intermediate);
    block.fc2 = linear(at + "output.dense", config_.intermediate, width);
    blocks_.push_back(std::move(block));
  }
  final_norm_ = layer_norm("vit.layernorm");
  classifier_ = linear("classifier", width, vit.classes);
}

Tensor Vit::logits(const Tensor& inputs, const Pass& pass) const {
  const int64_t patch = config_.vit()->patch_size;
  // [n, width, rows, columns] → [n, patches, width]
  const Tensor patches = at::conv2d(inputs, patch_weight_, patch_bias_, patch).flatten(2).transpose(1, 2);
  const Tensor tokens = at::cat({class_token_.expand({inputs.size(0), 1, -1}), patches}, 1);
  Tensor x = dropout(tokens + positions_, config_.hidden_dropout, pass);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const Tensor normed = block.attention_norm(x);
    // The classifier sees the first token alone, so the last block makes no other.
    const bool last = i + 1 == blocks_.size();
    const Tensor attended = last ? block.attention.first(normed, pass) : block.attention(normed, {}, pass);
    x = (last ? x.narrow(1, 0, 1) : x) + dropout(attended, config_.hidden_dropout, pass);
    x = x + mlp(i, block.mlp_norm(x), x, pass);
  }
  return classifier_(final_norm_(x.select(1, 0)), pass);
}

Tensor Vit::sample_losses(const Tensor& logits, const Tensor& labels) const {
  return at::cross_entropy_loss(logits, labels, {}, at::Reduction::None, Batch::kIgnored);
}

}  // namespace zkapex
