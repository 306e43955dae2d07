#include "learning/layers.h"

#include <cmath>

#include "learning/head_attention.h"
#include "learning/torch.h"

namespace zkapex {

Tensor ParameterList::add(std::string name, Tensor value) {
  index_.emplace(name, all_.size());
  all_.push_back({std::move(name), value});
  return value;
}

const Tensor* ParameterList::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? nullptr : &all_[found->second].value;
}

Tensor dropout(const Tensor& x, double probability, const Pass& pass) {
  return pass.training && probability > 0 ? at::dropout(x, probability, true) : x;
}

Tensor Linear::operator()(const Tensor& x, const Pass& pass) const {
  Tensor y = at::linear(x, weight, bias);
  if (lora) {
    const Tensor low = at::linear(dropout(x, lora->dropout, pass), lora->a);
    y = y + at::linear(low, lora->b) * lora->scale;
  }
  if (pass.observer && pass.observer->wants(name + ".weight")) {
    // With frozen weights nothing below asks for gradients; the observer needs the output's all the same.
    if (!y.requires_grad()) y.requires_grad_(true);
    pass.observer->observe(name + ".weight", x.detach(), y);
  }
  return y;
}

Tensor LayerNorm::operator()(const Tensor& x) const { return at::layer_norm(x, weight.sizes(), weight, bias, eps); }

Tensor AdapterBranch::operator()(const Tensor& x, const Pass& pass) const {
  return up(at::relu(down(x, pass)), pass) * scale;
}

Tensor Attention::operator()(const Tensor& x, const Tensor& causal, const Pass& pass) const {
  return asked(x, x, causal, pass);
}

Tensor Attention::first(const Tensor& x, const Pass& pass) const { return asked(x.narrow(1, 0, 1), x, {}, pass); }

Tensor Attention::asked(const Tensor& asking, const Tensor& x, const Tensor& causal, const Pass& pass) const {
  const Tensor q = query(asking, pass), k = key(x, pass), v = value(x, pass);
  const bool drops = pass.training && dropout > 0;
  if (!causal.defined() && !drops && few_tokens(x, heads)) return output(attend(q, k, v, heads), pass);
  const int64_t n = q.size(0), t = q.size(1), width = q.size(2);
  const auto split = [&](const Tensor& y) { return y.view({n, y.size(1), heads, width / heads}).transpose(1, 2); };
  const double scale = 1.0 / std::sqrt(static_cast<double>(width / heads));
  Tensor scores = at::matmul(split(q * scale), split(k).transpose(-2, -1));
  if (causal.defined()) scores = scores.masked_fill(causal, -std::numeric_limits<double>::infinity());
  const Tensor weights = zkapex::dropout(at::softmax(scores, -1), dropout, pass);
  return output(at::matmul(weights, split(v)).transpose(1, 2).reshape({n, t, width}), pass);
}

}  // namespace zkapex
