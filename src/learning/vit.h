// The Vision Transformer: patches and a class token through pre-norm blocks, a classifier on the class token.
#pragma once

#include "learning/model.h"

namespace zkapex {

class Vit final : public Model {
 public:
  Vit(const ModelConfig& config, const Placement& placement);

  [[nodiscard]] Tensor logits(const Tensor& inputs, const Pass& pass = {}) const override;
  [[nodiscard]] Tensor sample_losses(const Tensor& logits, const Tensor& labels) const override;

 private:
  Tensor class_token_, positions_, patch_weight_, patch_bias_;
  LayerNorm final_norm_;
  Linear classifier_;
};

}  // namespace zkapex
