#include "learning/training.h"

#include <cmath>
#include <numeric>

#include "base/stopwatch.h"
#include "data/shuffle.h"
#include "learning/adaptformer.h"
#include "learning/lora.h"
#include "learning/model_names.h"
#include "learning/torch.h"
#include "learning/training_state.h"

namespace zkapex {

Result<Method> method_named(std::string_view name) {
  if (name == "full") return Method::kFull;
  if (name == "linear") return Method::kLinearProbe;
  if (name == "lora") return Method::kLora;
  if (name == "adaptformer") return Method::kAdaptFormer;
  return error("there is no method '{}' (full, linear, lora, adaptformer)", name);
}

Status TrainingOptions::check() const {
  if (epochs <= 0 || batch <= 0) return error("epochs and batch must be positive");
  if (!(rate > 0) || !std::isfinite(rate)) return error("a learning rate of {} is not positive and finite", rate);
  if (!(warmup >= 0 && warmup < 1)) return error("a warm-up of {} is not a fraction of the steps", warmup);
  if (!(layer_decay > 0 && layer_decay <= 1)) return error("a layer decay of {} is not in (0, 1]", layer_decay);
  return Done{};
}

std::string TrainingOptions::text() const {
  return fmt::format(
      "epochs={} batch={} rate={} beta1={} beta2={} eps={} weight_decay={} layer_decay={} schedule={} warmup={} "
      "clip_norm={} seed={}",
      epochs, batch, rate, adamw.beta1, adamw.beta2, adamw.eps, adamw.weight_decay, layer_decay,
      static_cast<int>(schedule), warmup, clip_norm, seed);
}

Result<std::vector<Trainable>> trainable_parameters(Model& model, Method method, double layer_decay) {
  std::vector<Parameter> chosen;
  const auto add_classifier = [&] {
    for (const Parameter& p : model.parameters().all()) {
      if (p.name.starts_with("classifier.")) chosen.push_back(p);
    }
  };
  switch (method) {
    case Method::kFull:
      chosen = model.parameters().all();
      break;
    case Method::kLinearProbe:
      if (!model.config().vit()) return error("a linear probe needs an image classifier");
      break;
    case Method::kLora:
      chosen = lora_parameters(model);
      break;
    case Method::kAdaptFormer:
      chosen = adaptformer_parameters(model);
      break;
  }
  if (method != Method::kFull && method != Method::kLinearProbe && chosen.empty()) {
    return error("the model has no adapters to train");
  }
  if (method != Method::kFull) add_classifier();
  model.set_requires_grad(false);
  std::vector<Trainable> out;
  const int64_t top = model.config().layers + 1;
  for (const Parameter& p : chosen) {
    p.value.set_requires_grad(true);
    const int64_t depth = method == Method::kFull ? depth_of(model.config(), p.name) : top;
    // Biases, norms and position tables are not decayed.
    const bool decay = p.value.dim() > 1 && p.name.find("position") == std::string::npos &&
                       p.name.find("cls_token") == std::string::npos;
    out.push_back({p.name, p.value, std::pow(layer_decay, static_cast<double>(top - depth)), decay});
  }
  return out;
}

namespace {

std::vector<int64_t> epoch_order(int64_t samples, uint64_t seed, int64_t epoch) {
  std::vector<int64_t> order(static_cast<size_t>(samples));
  std::iota(order.begin(), order.end(), int64_t{0});
  shuffle(order, derived_seed(seed, static_cast<uint64_t>(epoch)));
  return order;
}

// The loss before the step.
Result<double> train_step(const Model& model, Optimizer& optimizer, const Batch& batch, double rate, double clip_norm) {
  const Batch placed = batch.to(model.placement());
  const Tensor loss = model.sample_losses(model.logits(placed.inputs, {.training = true}), placed.labels).mean();
  const double value = loss.item<double>();
  if (!std::isfinite(value)) return error("the loss is not finite: lower the learning rate");
  optimizer.zero_gradients();
  loss.backward();
  if (clip_norm > 0) clip_gradients(optimizer.parameters(), clip_norm);
  optimizer.step(rate);
  return value;
}

Status run(const Model& model, const Samples& samples, Optimizer& optimizer, const TrainingState& state,
           const TrainingOptions& options, const TrainingObserver& observe, TrainingReport& report) {
  const int64_t per_epoch = (samples.size() + options.batch - 1) / options.batch, total = per_epoch * options.epochs;
  const auto warmup = static_cast<int64_t>(std::llround(options.warmup * static_cast<double>(total)));
  std::vector<int64_t> order;
  double epoch_loss = 0;
  int64_t epoch_samples = 0;
  for (int64_t step = report.resumed_at; step < total; ++step) {
    const int64_t within = step % per_epoch;
    if (order.empty() || within == 0) order = epoch_order(samples.size(), options.seed, step / per_epoch);
    const int64_t first = within * options.batch, count = std::min(options.batch, samples.size() - first);
    ZKAPEX_TRY(const Batch batch, samples.batch({&order[static_cast<size_t>(first)], static_cast<size_t>(count)}));
    // Dropout depends on the step alone, so that a resumed run repeats it.
    at::manual_seed(step_seed(options.seed, step));
    const double rate = options.rate * rate_factor(options.schedule, step, total, warmup);
    auto loss = train_step(model, optimizer, batch, rate, options.clip_norm);
    if (!loss.ok()) return loss.error().within(fmt::format("step {}", step));

    ++report.steps;
    report.samples += count;
    epoch_loss += *loss * static_cast<double>(count);
    epoch_samples += count;
    const bool epoch_ends = within + 1 == per_epoch;
    if (epoch_ends) {
      report.epoch_losses.push_back(epoch_loss / static_cast<double>(epoch_samples));
      epoch_loss = 0, epoch_samples = 0;
    }
    const bool stops = options.stop_after > 0 && report.steps == options.stop_after;
    const bool due = options.checkpoint_every > 0 && (step + 1) % options.checkpoint_every == 0;
    if (options.checkpoint && (epoch_ends || stops || due)) {
      ZKAPEX_CHECK(state.save(*options.checkpoint, step + 1));
    }
    if (observe) {
      ZKAPEX_CHECK(observe({step + 1, total, count, *loss}));
    }
    if (stops) break;
  }
  return Done{};
}

}  // namespace

Result<TrainingReport> train(Model& model, const Samples& samples, Method method, const TrainingOptions& options,
                             const TrainingObserver& observe) {
  return catch_torch([&]() -> Result<TrainingReport> {
    const at::AutoGradMode grad(true);
    ZKAPEX_CHECK(options.check());
    if (samples.size() == 0) return error("there is nothing to train on");
    ZKAPEX_TRY(auto trainable, trainable_parameters(model, method, options.layer_decay));
    const auto optimizer = make_adamw(std::move(trainable), options.adamw);
    const TrainingState state(
        *optimizer, fmt::format("method={} samples={} {}", static_cast<int>(method), samples.size(), options.text()));
    TrainingReport report;
    if (options.checkpoint) {
      ZKAPEX_TRY(report.resumed_at, state.load(*options.checkpoint));
    }
    const Stopwatch watch;
    ZKAPEX_CHECK(run(model, samples, *optimizer, state, options, observe, report));
    report.seconds = watch.seconds();
    optimizer->zero_gradients();
    for (const Trainable& p : optimizer->parameters()) p.value.set_requires_grad(false);
    return report;
  });
}

}  // namespace zkapex
