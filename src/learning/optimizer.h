// The two optimizers that training and the baselines use, and the way a learning rate changes.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learning/layers.h"

namespace zkapex {

struct Trainable {
  std::string name;
  Tensor value;           // requires gradients
  double rate_scale = 1;  // of the learning rate (layer-wise decay)
  bool decay = true;      // whether weight decay applies
};

class Optimizer {
 public:
  virtual ~Optimizer() = default;
  // From the gradients that are there (a parameter without one is left alone).
  virtual void step(double rate) = 0;
  // All that must be kept to go on later: tensors that may be read and overwritten.
  [[nodiscard]] virtual std::vector<Parameter> state() const = 0;

  void zero_gradients() const;
  [[nodiscard]] const std::vector<Trainable>& parameters() const { return parameters_; }

 protected:
  explicit Optimizer(std::vector<Trainable> parameters) : parameters_(std::move(parameters)) {}
  std::vector<Trainable> parameters_;
};

struct AdamWOptions {
  double beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0.01;
};
// Loshchilov and Hutter's AdamW: decay apart from the gradient, p ← (1 − rate·decay) p − rate · m̂ / (√v̂ + ε).
[[nodiscard]] std::unique_ptr<Optimizer> make_adamw(std::vector<Trainable> parameters, const AdamWOptions& options);

struct SgdOptions {
  double momentum = 0.9, weight_decay = 5e-4;
};
// b ← momentum · b + (g + decay · p), p ← p − rate · b.
[[nodiscard]] std::unique_ptr<Optimizer> make_sgd(std::vector<Trainable> parameters, const SgdOptions& options);

// Scales all gradients so that their joint norm is at most `limit`; returns the norm before.
double clip_gradients(const std::vector<Trainable>& parameters, double limit);

enum class Schedule { kConstant, kLinear, kCosine };
[[nodiscard]] Result<Schedule> schedule_named(std::string_view name);

// The factor of the learning rate in step `step` (from 0) of `total`: rising over the first `warmup` steps, then
// falling to zero.
[[nodiscard]] double rate_factor(Schedule schedule, int64_t step, int64_t total, int64_t warmup);

}  // namespace zkapex
