#include "learning/model.h"

#include <ATen/CPUGeneratorImpl.h>

#include "learning/opt.h"
#include "learning/torch.h"
#include "learning/vit.h"

namespace zkapex {

Batch Batch::to(const Placement& placement) const {
  const bool images = inputs.is_floating_point();
  return {images ? inputs.to(placement.options()) : inputs.to(placement.device), labels.to(placement.device)};
}

Tensor Model::parameter(const std::string& name, at::IntArrayRef shape) {
  return parameters_.add(name, at::empty(shape, placement_.options()));
}

Linear Model::linear(const std::string& name, int64_t in, int64_t out, bool bias) {
  Linear layer{name, parameter(name + ".weight", {out, in}), {}, {}};
  if (bias) layer.bias = parameter(name + ".bias", {out});
  return layer;
}

LayerNorm Model::layer_norm(const std::string& name) {
  Tensor weight = parameter(name + ".weight", {config_.hidden});
  return {weight, parameter(name + ".bias", {config_.hidden}), config_.layer_norm_eps};
}

Tensor Model::activate(const Tensor& x) const {
  switch (config_.activation) {
    case Activation::kGelu:
      return at::gelu(x);
    case Activation::kGeluTanh:
      return at::gelu(x, "tanh");
    case Activation::kRelu:
      return at::relu(x);
  }
  return x;
}

Tensor Model::mlp(size_t block, const Tensor& x, const Tensor& residual, const Pass& pass) const {
  const Block& b = blocks_[block];
  const Tensor y = dropout(b.fc2(activate(b.fc1(x, pass)), pass), config_.hidden_dropout, pass);
  return adapters_.empty() ? y : y + adapters_[block](residual, pass);
}

std::vector<Linear*> Model::linears() {
  std::vector<Linear*> out;
  for (Block& b : blocks_) {
    Attention& a = b.attention;
    out.insert(out.end(), {&a.query, &a.key, &a.value, &a.output, &b.fc1, &b.fc2});
  }
  return out;
}

std::vector<std::string> Model::mlp_weights() const {
  std::vector<std::string> out;
  for (const Block& b : blocks_) {
    out.push_back(b.fc1.name + ".weight");
    out.push_back(b.fc2.name + ".weight");
  }
  return out;
}

void Model::set_requires_grad(bool on) const {
  for (const Parameter& p : parameters_.all()) p.value.set_requires_grad(on);
}

std::unique_ptr<Model> make_model(const ModelConfig& config, const Placement& placement) {
  if (config.vit()) return std::make_unique<Vit>(config, placement);
  return std::make_unique<Opt>(config, placement);
}

void initialize(Model& model, uint64_t seed) {
  const at::NoGradGuard no_grad;
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(seed);
  for (const Parameter& p : model.parameters().all()) {
    const bool norm = p.name.find("norm") != std::string::npos;
    const Tensor value = at::zeros(p.value.sizes(), at::kDouble);
    if (norm && p.name.ends_with(".weight")) {
      value.fill_(1);
    } else if (!p.name.ends_with(".bias")) {
      value.normal_(0, model.config().initializer_range, generator);
    }
    p.value.copy_(value);
  }
}

std::unique_ptr<Model> clone(const Model& model) {
  const at::NoGradGuard no_grad;
  auto copy = make_model(model.config(), model.placement());
  for (const Parameter& p : copy->parameters().all()) p.value.copy_(*model.parameters().find(p.name));
  for (const AdapterBranch& adapter : model.adapters()) {
    AdapterBranch own = adapter;
    for (Tensor* t : {&own.down.weight, &own.down.bias, &own.up.weight, &own.up.bias}) *t = t->detach().clone();
    copy->adapters().push_back(std::move(own));
  }
  return copy;
}

}  // namespace zkapex
