// A ViT classifier or an OPT language model: Hugging Face's parameters and arithmetic.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "data/model_config.h"
#include "learning/layers.h"

namespace zkapex {

struct Placement {
  at::ScalarType dtype = at::kFloat;
  at::Device device = at::kCPU;

  [[nodiscard]] at::TensorOptions options() const { return at::TensorOptions().dtype(dtype).device(device); }
};

// What a model is given: images [n, c, h, w] with a label each, or token ids [n, t] with the ids as labels.
// A label of kIgnored counts for nothing.
struct Batch {
  static constexpr int64_t kIgnored = -100;
  Tensor inputs, labels;

  [[nodiscard]] int64_t size() const { return inputs.size(0); }
  [[nodiscard]] Batch to(const Placement& placement) const;
};

class Model {
 public:
  virtual ~Model() = default;
  Model(const Model&) = delete;
  Model& operator=(const Model&) = delete;

  // [n, classes], or [n, t, vocabulary].
  [[nodiscard]] virtual Tensor logits(const Tensor& inputs, const Pass& pass = {}) const = 0;
  // The cross entropy of each sample [n]; for language models the mean over the tokens that follow the first.
  [[nodiscard]] virtual Tensor sample_losses(const Tensor& logits, const Tensor& labels) const = 0;

  [[nodiscard]] const ModelConfig& config() const { return config_; }
  [[nodiscard]] const ParameterList& parameters() const { return parameters_; }
  [[nodiscard]] const Placement& placement() const { return placement_; }
  // The linear maps of the transformer blocks in order: query, key, value, output, fc1, fc2 of each.
  [[nodiscard]] std::vector<Linear*> linears();
  // The weights of fc1 and fc2 of every block: what unlearning covers by default.
  [[nodiscard]] std::vector<std::string> mlp_weights() const;
  // One branch per block, or none.
  [[nodiscard]] std::vector<AdapterBranch>& adapters() { return adapters_; }
  [[nodiscard]] const std::vector<AdapterBranch>& adapters() const { return adapters_; }

  void set_requires_grad(bool on) const;

 protected:
  struct Block {
    LayerNorm attention_norm, mlp_norm;
    Attention attention;
    Linear fc1, fc2;
  };

  Model(ModelConfig config, const Placement& placement) : config_(std::move(config)), placement_(placement) {}

  // Parameters of the given shape, not yet filled.
  Tensor parameter(const std::string& name, at::IntArrayRef shape);
  Linear linear(const std::string& name, int64_t in, int64_t out, bool bias = true);
  LayerNorm layer_norm(const std::string& name);
  [[nodiscard]] Tensor activate(const Tensor& x) const;
  // fc2(act(fc1(x))), and the adapter of the block on `residual`.
  [[nodiscard]] Tensor mlp(size_t block, const Tensor& x, const Tensor& residual, const Pass& pass) const;

  ModelConfig config_;
  Placement placement_;
  ParameterList parameters_;
  std::vector<Block> blocks_;
  std::vector<AdapterBranch> adapters_;
};

// With parameters not yet filled.
[[nodiscard]] std::unique_ptr<Model> make_model(const ModelConfig& config, const Placement& placement);

// Hugging Face's initialisation: truncated normal weights, zero biases, norms at one. The same for the same seed.
void initialize(Model& model, uint64_t seed);

// Same values, own storage (SCRUB's teacher, a checkpoint to go back to).
[[nodiscard]] std::unique_ptr<Model> clone(const Model& model);

}  // namespace zkapex
