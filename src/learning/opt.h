// OPT: a decoder with learned positions, trained to predict the next token.
#pragma once

#include "learning/model.h"

namespace zkapex {

class Opt final : public Model {
 public:
  Opt(const ModelConfig& config, const Placement& placement);

  [[nodiscard]] Tensor logits(const Tensor& inputs, const Pass& pass = {}) const override;
  [[nodiscard]] Tensor sample_losses(const Tensor& logits, const Tensor& labels) const override;

 private:
  Tensor tokens_, positions_;
  Linear project_in_, project_out_;  // opt-350m: embeddings narrower than the blocks; weight undefined otherwise
  LayerNorm final_norm_;             // weight undefined where there is none
  Tensor lm_head_;                   // the embedding itself when tied
};

}  // namespace zkapex
