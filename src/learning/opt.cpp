#include "learning/opt.h"

#include "learning/torch.h"

namespace zkapex {

namespace {
constexpr int64_t kPositionOffset = 2;  // the first two rows of the position table are never used
}

Opt::Opt(const ModelConfig& config, const Placement& placement) : Model(config, placement) {
  const OptConfig& opt = *config_.opt();
  const int64_t width = config_.hidden;
  const std::string decoder = "model.decoder.";
  tokens_ = parameter(decoder + "embed_tokens.weight", {opt.vocabulary, opt.embedding});
  positions_ = parameter(decoder + "embed_positions.weight", {opt.positions + kPositionOffset, width});
  if (opt.embedding != width) {
    project_in_ = linear(decoder + "project_in", opt.embedding, width, false);
    project_out_ = linear(decoder + "project_out", width, opt.embedding, false);
  }
  for (int64_t i = 0; i < config_.layers; ++i) {
    const std::string at = fmt::format("{}layers.{}.", decoder, i);
    Block block;
    block.attention = {.query = linear(at + "self_attn.q_proj", width, width),
                       .key = linear(at + "self_attn.k_proj", width, width),
                       .value = linear(at + "self_attn.v_proj", width, width),
                       .output = linear(at + "self_attn.out_proj", width, width),
                       .heads = config_.heads,
                       .dropout = config_.attention_dropout};
    block.attention_norm = layer_norm(at + "self_attn_layer_norm");
    block.fc1 = linear(at + "fc1", width, config_.intermediate);
    block.fc2 = linear(at + "fc2", config_.intermediate, width);
    block.mlp_norm = layer_norm(at + "final_layer_norm");
    blocks_.push_back(std::move(block));
  }
  if (opt.final_norm) final_norm_ = layer_norm(decoder + "final_layer_norm");
  lm_head_ = opt.tied ? tokens_ : parameter("lm_head.weight", {opt.vocabulary, opt.embedding});
}

Tensor Opt::logits(const Tensor& inputs, const Pass& pass) const {
  const int64_t length = inputs.size(1);
  const bool before = config_.opt()->norm_before;
  Tensor x = at::embedding(tokens_, inputs);
  if (project_in_.weight.defined()) x = project_in_(x, pass);
  x = x + positions_.narrow(0, kPositionOffset, length);
  const Tensor causal = at::ones({length, length}, inputs.options().dtype(at::kBool)).triu(1);
  for (size_t i = 0; i < blocks_.size(); ++i) {
    const Block& block = blocks_[i];
    const Tensor attended = block.attention(before ? block.attention_norm(x) : x, causal, pass);
    x = x + dropout(attended, config_.hidden_dropout, pass);
    if (!before) x = block.attention_norm(x);
    x = x + mlp(i, before ? block.mlp_norm(x) : x, x, pass);
    if (!before) x = block.mlp_norm(x);
  }
  if (final_norm_.weight.defined()) x = final_norm_(x);
  if (project_out_.weight.defined()) x = project_out_(x, pass);
  return at::linear(x, lm_head_);
}

Tensor Opt::sample_losses(const Tensor& logits, const Tensor& labels) const {
  const int64_t n = labels.size(0), length = labels.size(1), vocabulary = logits.size(2);
  const Tensor next = labels.narrow(1, 1, length - 1);
  const Tensor predicted = logits.narrow(1, 0, length - 1);
  const Tensor losses = at::cross_entropy_loss(predicted.reshape({-1, vocabulary}), next.reshape({-1}), {},
                                               at::Reduction::None, Batch::kIgnored);
  const Tensor counted = (next != Batch::kIgnored).sum(1).clamp_min(1);
  return losses.view({n, length - 1}).sum(1) / counted;
}

}  // namespace zkapex
