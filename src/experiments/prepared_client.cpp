#include "experiments/prepared_client.h"

#include <algorithm>
#include <cmath>

#include "learning/cycle.h"
#include "learning/mask_tensors.h"
#include "learning/torch.h"
#include "learning/training_state.h"
#include "unlearning/anchor.h"

namespace zkapex {

namespace {

// Rounding to the integers that are registered must not cross the anchor.
constexpr double kInside = 0.999;
// How far along the guide the client expects to be drawn: its own curvature holds it back.
constexpr double kLeastDrawn = 0.5;

Tensor joint_loss(const Model& model, const Batch& own, const Batch& forgotten) {
  const auto mean = [&](const Batch& batch) {
    return model.sample_losses(model.logits(batch.inputs, {.training = true}), batch.labels).mean();
  };
  return mean(own) + mean(forgotten);
}

// The covered weights, drawn along the guide and back.
class Displacement {
 public:
  static Result<Displacement> of(Model& model, const Published& expected) {
    ZKAPEX_TRY(const auto covered, covered_by(model, expected.deployment.layout()));
    ZKAPEX_TRY(const auto masks, mask_tensors(expected.mask, expected.deployment));
    ZKAPEX_TRY(const auto guide, guide_tensors(expected.mask, expected.deployment));
    Displacement out;
    for (size_t k = 0; k < covered.size(); ++k) {
      const Tensor& weight = *model.parameters().find(covered[k]);
      out.parts_.push_back({weight, masks[k].to(weight.device()) != 0, guide[k].to(weight.device()), {}, {}});
    }
    return out;
  }

  void draw(double share) {
    const at::NoGradGuard no_grad;
    for (Part& part : parts_) {
      part.before = part.weight.clone();
      part.gradient = part.weight.grad().clone();
      part.weight.add_(part.guide, share);
      part.weight.masked_fill_(part.masked, 0);
    }
  }
  // Gradients of what was computed in between are kept, but for those of masked weights, which had no part in it.
  void undo() {
    const at::NoGradGuard no_grad;
    for (Part& part : parts_) {
      part.weight.copy_(part.before);
      const Tensor gradient = part.weight.grad();
      gradient.copy_(at::where(part.masked, part.gradient, gradient));
    }
  }

 private:
  struct Part {
    Tensor weight, masked, guide, before, gradient;
  };
  std::vector<Part> parts_;
};

// Back into the anchor: Σ (θ − θ0)² <= ρ² Σ θ0², and α² more for every entry of a bias or gain.
void hold(const Model& model, const Model& base, double ratio) {
  const at::NoGradGuard no_grad;
  const double drift = AnchorLimits().drift.approximate();
  for (const Parameter& parameter : model.parameters().all()) {
    const Tensor& from = *base.parameters().find(parameter.name);
    const Tensor moved = parameter.value - from;
    const bool vector = std::ranges::count_if(from.sizes(), [](int64_t length) { return length > 1; }) <= 1;
    const double absolute = vector ? drift * drift * static_cast<double>(from.numel()) : 0;
    const double bound = kInside * std::sqrt(ratio * ratio * from.square().sum().item<double>() + absolute);
    const double distance = moved.norm().item<double>();
    if (distance > bound) parameter.value.copy_(from + moved * (bound / distance));
  }
}

}  // namespace

Result<std::unique_ptr<Model>> prepared_model(Vision& vision, const Published& expected, const Preparation& how) {
  ZKAPEX_TRY(const Path original, vision.original());
  ZKAPEX_TRY(const auto base, vision.load(original));
  ZKAPEX_TRY(const Samples own, vision.samples("personal"));
  ZKAPEX_TRY(const Samples forgotten, vision.samples("forget"));
  const TrainingOptions& training = how.training;
  return catch_torch([&]() -> Result<std::unique_ptr<Model>> {
    const at::AutoGradMode grad(true);
    auto model = clone(*base);
    ZKAPEX_TRY(auto trainable, trainable_parameters(*model, Method::kFull, training.layer_decay));
    const auto optimizer = make_adamw(std::move(trainable), training.adamw);
    ZKAPEX_TRY(Displacement displacement, Displacement::of(*model, expected));
    const uint64_t seed = vision.seed(kPreparation);
    Cycle keep(own, training.batch, seed), hide(forgotten, training.batch, derived_seed(seed, 1));
    const int64_t total = training.epochs * keep.batches_per_epoch();
    for (int64_t step = 0; step < total; ++step) {
      ZKAPEX_TRY(const Batch kept, keep.at(step));
      ZKAPEX_TRY(const Batch hidden, hide.at(step));
      const Batch first = kept.to(model->placement()), second = hidden.to(model->placement());
      at::manual_seed(step_seed(seed, step));
      const double share = kLeastDrawn + (1 - kLeastDrawn) * at::rand({1}).item<double>();
      optimizer->zero_gradients();
      joint_loss(*model, first, second).backward();
      displacement.draw(share);
      joint_loss(*model, first, second).backward();
      displacement.undo();
      clip_gradients(optimizer->parameters(), training.clip_norm);
      optimizer->step(training.rate * rate_factor(training.schedule, step, total, 0));
      hold(*model, *base, how.ratio);
    }
    optimizer->zero_gradients();
    model->set_requires_grad(false);
    return model;
  });
}

}  // namespace zkapex
