#include "learning/optimizer.h"

#include <cmath>
#include <numbers>
#include <numeric>

#include "learning/torch.h"

namespace zkapex {

namespace {

class AdamW final : public Optimizer {
 public:
  AdamW(std::vector<Trainable> parameters, const AdamWOptions& options)
      : Optimizer(std::move(parameters)), options_(options), steps_(at::zeros({1}, at::kLong)) {
    for (const Trainable& p : parameters_) {
      first_.push_back(at::zeros_like(p.value.detach()));
      second_.push_back(at::zeros_like(p.value.detach()));
    }
  }

  void step(double rate) override {
    const at::NoGradGuard no_grad;
    steps_.add_(1);
    const auto t = static_cast<double>(steps_.item<int64_t>());
    const double correction1 = 1 - std::pow(options_.beta1, t), correction2 = 1 - std::pow(options_.beta2, t);
    for (size_t k = 0; k < parameters_.size(); ++k) {
      const Trainable& p = parameters_[k];
      const Tensor& g = p.value.grad();
      if (!g.defined()) continue;
      const double own = rate * p.rate_scale;
      if (p.decay) p.value.mul_(1 - own * options_.weight_decay);
      first_[k].mul_(options_.beta1).add_(g, 1 - options_.beta1);
      second_[k].mul_(options_.beta2).addcmul_(g, g, 1 - options_.beta2);
      const Tensor scale = second_[k].sqrt().div_(std::sqrt(correction2)).add_(options_.eps);
      p.value.addcdiv_(first_[k], scale, -own / correction1);
    }
  }

  [[nodiscard]] std::vector<Parameter> state() const override {
    std::vector<Parameter> out = {{"optimizer.steps", steps_}};
    for (size_t k = 0; k < parameters_.size(); ++k) {
      out.push_back({"optimizer.first." + parameters_[k].name, first_[k]});
      out.push_back({"optimizer.second." + parameters_[k].name, second_[k]});
    }
    return out;
  }

 private:
  AdamWOptions options_;
  Tensor steps_;
  std::vector<Tensor> first_, second_;  // means of gradients and of their squares
};

class Sgd final : public Optimizer {
 public:
  Sgd(std::vector<Trainable> parameters, const SgdOptions& options)
      : Optimizer(std::move(parameters)), options_(options) {
    for (const Trainable& p : parameters_) momentum_.push_back(at::zeros_like(p.value.detach()));
  }

  void step(double rate) override {
    const at::NoGradGuard no_grad;
    for (size_t k = 0; k < parameters_.size(); ++k) {
      const Trainable& p = parameters_[k];
      const Tensor& g = p.value.grad();
      if (!g.defined()) continue;
      momentum_[k].mul_(options_.momentum).add_(g);
      if (p.decay) momentum_[k].add_(p.value, options_.weight_decay);
      p.value.add_(momentum_[k], -rate * p.rate_scale);
    }
  }

  [[nodiscard]] std::vector<Parameter> state() const override {
    std::vector<Parameter> out;
    for (size_t k = 0; k < parameters_.size(); ++k) {
      out.push_back({"optimizer.momentum." + parameters_[k].name, momentum_[k]});
    }
    return out;
  }

 private:
  SgdOptions options_;
  std::vector<Tensor> momentum_;
};

}  // namespace

void Optimizer::zero_gradients() const {
  for (const Trainable& p : parameters_) p.value.mutable_grad() = Tensor();
}

std::unique_ptr<Optimizer> make_adamw(std::vector<Trainable> parameters, const AdamWOptions& options) {
  return std::make_unique<AdamW>(std::move(parameters), options);
}

std::unique_ptr<Optimizer> make_sgd(std::vector<Trainable> parameters, const SgdOptions& options) {
  return std::make_unique<Sgd>(std::move(parameters), options);
}

double clip_gradients(const std::vector<Trainable>& parameters, double limit) {
  const at::NoGradGuard no_grad;
  // All sums first, then one look at them: a GPU would be waited for at each.
  std::vector<Tensor> sums;
  for (const Trainable& p : parameters) {
    if (p.value.grad().defined()) sums.push_back(p.value.grad().square().sum());
  }
  if (sums.empty()) return 0;
  const Tensor local = at::stack(sums).to(at::kDouble).cpu();
  const auto* squares = local.data_ptr<double>();
  const double norm = std::sqrt(std::accumulate(squares, squares + local.numel(), 0.0));
  if (norm > limit) {
    for (const Trainable& p : parameters) {
      if (p.value.grad().defined()) p.value.mutable_grad().mul_(limit / (norm + 1e-6));
    }
  }
  return norm;
}

Result<Schedule> schedule_named(std::string_view name) {
  if (name == "constant") return Schedule::kConstant;
  if (name == "linear") return Schedule::kLinear;
  if (name == "cosine") return Schedule::kCosine;
  return error("there is no schedule '{}' (constant, linear, cosine)", name);
}

double rate_factor(Schedule schedule, int64_t step, int64_t total, int64_t warmup) {
  if (step < warmup) return static_cast<double>(step + 1) / static_cast<double>(warmup);
  const double done = total > warmup ? static_cast<double>(step - warmup) / static_cast<double>(total - warmup) : 1;
  switch (schedule) {
    case Schedule::kConstant:
      return 1;
    case Schedule::kLinear:
      return 1 - done;
    case Schedule::kCosine:
      return 0.5 * (1 + std::cos(std::numbers::pi * done));
  }
  return 1;
}

}  // namespace zkapex
