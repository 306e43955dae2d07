#include "learning/baselines.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "learning/cycle.h"
#include "learning/torch.h"
#include "learning/training_state.h"

namespace zkapex {

namespace {

Tensor cross_entropy(const Model& model, const Batch& batch) {
  return model.sample_losses(model.logits(batch.inputs, {.training = true}), batch.labels).mean();
}

// One step of a method: the loss to go down, and how many samples count as its work.
struct StepLoss {
  Tensor loss;
  int64_t samples;
};

struct Recipe {
  std::string name;  // with what decides the result besides BaselineOptions
  int64_t steps;
  std::function<Result<StepLoss>(int64_t step)> loss;
  std::function<bool(int64_t step)> ends_pass;
};

Status sgd_steps(Optimizer& optimizer, const Recipe& recipe, const BaselineOptions& options) {
  const TrainingState state(optimizer, fmt::format("{} {}", recipe.name, options.text()));
  int64_t first = 0;
  if (options.checkpoint) {
    ZKAPEX_TRY(first, state.load(*options.checkpoint));
  }
  for (int64_t step = first; step < recipe.steps; ++step) {
    at::manual_seed(step_seed(options.seed, step));
    ZKAPEX_TRY(const StepLoss now, recipe.loss(step));
    if (!std::isfinite(now.loss.item<double>())) return error("the loss is not finite: lower the learning rate");
    optimizer.zero_gradients();
    now.loss.backward();
    optimizer.step(options.rate);
    if (options.checkpoint && recipe.ends_pass(step)) {
      ZKAPEX_CHECK(state.save(*options.checkpoint, step + 1));
    }
    if (options.advance) options.advance(now.samples);
  }
  return Done{};
}

// Follows the recipe with an optimizer over all parameters, and freezes them again.
Status follow(const Model& model, const Recipe& recipe, const BaselineOptions& options) {
  return catch_torch([&]() -> Status {
    const at::AutoGradMode grad(true);
    std::vector<Trainable> parameters;
    for (const Parameter& p : model.parameters().all()) {
      p.value.set_requires_grad(true);
      parameters.push_back({p.name, p.value});
    }
    const auto optimizer = make_sgd(std::move(parameters), options.sgd);
    const Status done = sgd_steps(*optimizer, recipe, options);
    optimizer->zero_gradients();
    model.set_requires_grad(false);
    return done;
  });
}

}  // namespace

Status BaselineOptions::check() const {
  if (epochs <= 0 || forget_batch <= 0 || retain_batch <= 0) return error("epochs and batches must be positive");
  if (!(rate > 0) || !std::isfinite(rate)) return error("a learning rate of {} is not positive and finite", rate);
  return Done{};
}

std::string BaselineOptions::text() const {
  return fmt::format("epochs={} rate={} momentum={} weight_decay={} forget_batch={} retain_batch={} seed={}", epochs,
                     rate, sgd.momentum, sgd.weight_decay, forget_batch, retain_batch, seed);
}

Status mask_only(const Model& model, const std::vector<std::string>& covered, const std::vector<Tensor>& masks) {
  return catch_torch([&]() -> Status {
    const at::NoGradGuard no_grad;
    if (masks.size() != covered.size()) return error("there are {} masks for {} weights", masks.size(), covered.size());
    for (size_t k = 0; k < covered.size(); ++k) {
      const Tensor* weight = model.parameters().find(covered[k]);
      if (!weight || weight->sizes() != masks[k].sizes())
        return error("the mask of '{}' does not fit the model", covered[k]);
      weight->masked_fill_(masks[k].to(model.placement().device) != 0, 0);
    }
    return Done{};
  });
}

Status gradient_ascent(const Model& model, const Samples& forget, const BaselineOptions& options) {
  ZKAPEX_CHECK(options.check());
  Cycle cycle(forget, options.forget_batch, options.seed);
  const int64_t pass = cycle.batches_per_epoch();
  const Recipe recipe{"ga", options.epochs * pass,
                      [&](int64_t step) -> Result<StepLoss> {
                        ZKAPEX_TRY(const Batch batch, cycle.at(step));
                        return StepLoss{-cross_entropy(model, batch.to(model.placement())), batch.size()};
                      },
                      [&](int64_t step) { return (step + 1) % pass == 0; }};
  return follow(model, recipe, options);
}

Status neggrad_plus(const Model& model, const Samples& forget, const Samples& retain, double alpha,
                    const BaselineOptions& options) {
  ZKAPEX_CHECK(options.check());
  if (!(alpha >= 0 && alpha <= 1)) return error("an alpha of {} is not between 0 and 1", alpha);
  Cycle kept(retain, options.retain_batch, options.seed);
  Cycle forgotten(forget, options.forget_batch, derived_seed(options.seed, 1));
  const int64_t pass = kept.batches_per_epoch();
  const Recipe recipe{fmt::format("neggrad+ alpha={}", alpha), options.epochs * pass,
                      [&](int64_t step) -> Result<StepLoss> {
                        ZKAPEX_TRY(const Batch keep, kept.at(step));
                        ZKAPEX_TRY(const Batch lose, forgotten.at(step));
                        return StepLoss{cross_entropy(model, keep.to(model.placement())) * alpha -
                                            cross_entropy(model, lose.to(model.placement())) * (1 - alpha),
                                        keep.size()};
                      },
                      [&](int64_t step) { return (step + 1) % pass == 0; }};
  return follow(model, recipe, options);
}

Tensor distillation_loss(const Tensor& student_logits, const Tensor& teacher_logits, double temperature) {
  const Tensor student = at::log_softmax(student_logits / temperature, -1);
  const Tensor teacher = at::log_softmax(teacher_logits / temperature, -1);
  return (teacher.exp() * (teacher - student)).sum(-1).mean() * (temperature * temperature);
}

namespace {

// Where a step of SCRUB lies: a pass over the forget set begins each of the first epochs, one over the retained data
// ends every epoch.
struct ScrubStep {
  bool away;       // on the forget set
  int64_t number;  // of the batch in its set's cycle
};

ScrubStep scrub_step(int64_t step, int64_t away_epochs, int64_t away_pass, int64_t near_pass) {
  const int64_t both = away_pass + near_pass;
  if (step >= away_epochs * both) return {false, step - away_epochs * away_pass};
  const int64_t epoch = step / both, within = step % both;
  if (within < away_pass) return {true, epoch * away_pass + within};
  return {false, epoch * near_pass + within - away_pass};
}

}  // namespace

Status scrub(const Model& model, const Samples& forget, const Samples& retain, const ScrubOptions& options) {
  return catch_torch([&]() -> Status {
    ZKAPEX_CHECK(options.base.check());
    const std::unique_ptr<Model> teacher = clone(model);
    const auto distance = [&](const Batch& batch, const Tensor& student) {
      const at::NoGradGuard no_grad;
      const Tensor target = teacher->logits(batch.inputs);
      const at::AutoGradMode grad(true);
      return distillation_loss(student, target, options.temperature);
    };
    Cycle forgotten(forget, options.base.forget_batch, options.base.seed);
    Cycle kept(retain, options.base.retain_batch, derived_seed(options.base.seed, 1));
    const int64_t away_epochs = std::clamp<int64_t>(options.max_steps, 0, options.base.epochs);
    const int64_t away_pass = forgotten.batches_per_epoch(), near_pass = kept.batches_per_epoch();
    const Recipe recipe{fmt::format("scrub gamma={} alpha={} temperature={} msteps={}", options.gamma, options.alpha,
                                    options.temperature, options.max_steps),
                        away_epochs * away_pass + options.base.epochs * near_pass,
                        [&](int64_t step) -> Result<StepLoss> {
                          const ScrubStep at = scrub_step(step, away_epochs, away_pass, near_pass);
                          ZKAPEX_TRY(const Batch read, at.away ? forgotten.at(at.number) : kept.at(at.number));
                          const Batch batch = read.to(model.placement());
                          const Tensor student = model.logits(batch.inputs, {.training = true});
                          if (at.away) return StepLoss{-distance(batch, student), batch.size()};
                          return StepLoss{model.sample_losses(student, batch.labels).mean() * options.gamma +
                                              distance(batch, student) * options.alpha,
                                          batch.size()};
                        },
                        [&](int64_t step) {
                          const ScrubStep at = scrub_step(step, away_epochs, away_pass, near_pass);
                          return (at.number + 1) % (at.away ? away_pass : near_pass) == 0;
                        }};
    return follow(model, recipe, options.base);
  });
}

}  // namespace zkapex
