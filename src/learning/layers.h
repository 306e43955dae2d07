// The parts of a transformer: named parameters, linear maps with their low-rank branches, layer norms, attention.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "learning/tensor.h"

namespace zkapex {

struct Parameter {
  std::string name;  // as in a checkpoint on the Hub
  Tensor value;
};

// The parameters of a model in a fixed order. Layers hold handles to the same tensors, so values change in place only.
class ParameterList {
 public:
  Tensor add(std::string name, Tensor value);
  [[nodiscard]] const std::vector<Parameter>& all() const { return all_; }
  [[nodiscard]] const Tensor* find(std::string_view name) const;

 private:
  std::vector<Parameter> all_;
  std::unordered_map<std::string, size_t> index_;
};

// Sees the input [n, t, in] and the output [n, t, out] of linear maps it wants.
class LinearObserver {
 public:
  virtual ~LinearObserver() = default;
  [[nodiscard]] virtual bool wants(const std::string& weight_name) const = 0;
  virtual void observe(const std::string& weight_name, const Tensor& input, const Tensor& output) = 0;
};

// How a forward pass is run.
struct Pass {
  bool training = false;  // dropout on
  LinearObserver* observer = nullptr;
};

// x ↦ scale · dropout(x) Aᵀ Bᵀ, beside a linear map.
struct LoraBranch {
  Tensor a, b;  // [r, in], [out, r]
  double scale = 1, dropout = 0;
};

struct Linear {
  std::string name;     // of the module: its parameters are name.weight and name.bias
  Tensor weight, bias;  // bias undefined where the model has none
  std::optional<LoraBranch> lora;

  [[nodiscard]] Tensor operator()(const Tensor& x, const Pass& pass) const;
};

struct LayerNorm {
  Tensor weight, bias;
  double eps = 1e-5;

  [[nodiscard]] Tensor operator()(const Tensor& x) const;
};

// AdaptFormer: x ↦ scale · up(relu(down(x))), a branch parallel to the MLP.
struct AdapterBranch {
  Linear down, up;
  double scale = 0.1;

  [[nodiscard]] Tensor operator()(const Tensor& x, const Pass& pass) const;
};

struct Attention {
  Linear query, key, value, output;
  int64_t heads = 1;
  double dropout = 0;

  // x is [n, t, hidden]. `causal` is undefined, or a [t, t] mask that is true where attention is forbidden.
  [[nodiscard]] Tensor operator()(const Tensor& x, const Tensor& causal, const Pass& pass) const;
  // What the first token alone gets, [n, 1, hidden].
  [[nodiscard]] Tensor first(const Tensor& x, const Pass& pass) const;

 private:
  [[nodiscard]] Tensor asked(const Tensor& asking, const Tensor& x, const Tensor& causal, const Pass& pass) const;
};

[[nodiscard]] Tensor dropout(const Tensor& x, double probability, const Pass& pass);

}  // namespace zkapex
