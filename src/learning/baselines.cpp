#include "learning/baselines.h"

#include <cmath>
#include <functional>
#include <numeric>

#include "learning/shuffle.h"

namespace zkapex {

namespace {

using LossOf = std::function<Tensor(const Batch&)>;

Tensor cross_entropy(const Model& model, const Batch& batch) {
  return model.sample_losses(model.logits(batch.inputs, {.training = true}), batch.labels).mean();
}

// Batches of a set in an order of their own per epoch, without end.
class Cycle {
 public:
  Cycle(const Samples& samples, int64_t batch, uint64_t seed) : samples_(samples), batch_(batch), seed_(seed) {}

  [[nodiscard]] int64_t batches_per_epoch() const { return (samples_.size() + batch_ - 1) / batch_; }

  Result<Batch> next() {
    if (position_ == order_.size()) {
      order_.resize(static_cast<size_t>(samples_.size()));
      std::iota(order_.begin(), order_.end(), int64_t{0});
      shuffle(order_, derived_seed(seed_, epoch_++));
      position_ = 0;
    }
    const size_t count = std::min(static_cast<size_t>(batch_), order_.size() - position_);
    const std::span<const int64_t> positions(&order_[position_], count);
    position_ += count;
    return samples_.batch(positions);
  }

 private:
  const Samples& samples_;
  int64_t batch_;
  uint64_t seed_, epoch_ = 0;
  std::vector<int64_t> order_;
  size_t position_ = 0;
};

Status sgd_step(Optimizer& optimizer, const Tensor& loss, int64_t samples, const BaselineOptions& options) {
  if (!std::isfinite(loss.item<double>())) return error("the loss is not finite: lower the learning rate");
  optimizer.zero_gradients();
  loss.backward();
  optimizer.step(options.rate);
  if (options.advance) options.advance(samples);
  return Done{};
}

Status one_epoch(const Model& model, Cycle& cycle, Optimizer& optimizer, const BaselineOptions& options,
                 const LossOf& loss) {
  for (int64_t k = 0; k < cycle.batches_per_epoch(); ++k) {
    ZKAPEX_TRY(const Batch batch, cycle.next());
    ZKAPEX_CHECK(sgd_step(optimizer, loss(batch.to(model.placement())), batch.size(), options));
  }
  return Done{};
}

// Runs `body` with an optimizer over all parameters, and freezes them again.
Status with_optimizer(const Model& model, const BaselineOptions& options,
                      const std::function<Status(Optimizer&)>& body) {
  return catch_torch([&]() -> Status {
    ZKAPEX_CHECK(options.check());
    const at::AutoGradMode grad(true);
    at::manual_seed(options.seed);
    std::vector<Trainable> parameters;
    for (const Parameter& p : model.parameters().all()) {
      p.value.set_requires_grad(true);
      parameters.push_back({p.name, p.value});
    }
    const auto optimizer = make_sgd(std::move(parameters), options.sgd);
    const Status done = body(*optimizer);
    optimizer->zero_gradients();
    model.set_requires_grad(false);
    return done;
  });
}

}  // namespace

Status BaselineOptions::check() const {
  if (epochs <= 0 || forget_batch <= 0 || retain_batch <= 0 || !(rate > 0)) {
    return error("epochs, batches and the learning rate must be positive");
  }
  return Done{};
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
  return with_optimizer(model, options, [&](Optimizer& optimizer) -> Status {
    Cycle cycle(forget, options.forget_batch, options.seed);
    for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
      ZKAPEX_CHECK(one_epoch(model, cycle, optimizer, options,
                             [&](const Batch& batch) { return -cross_entropy(model, batch); }));
    }
    return Done{};
  });
}

Status neggrad_plus(const Model& model, const Samples& forget, const Samples& retain, double alpha,
                    const BaselineOptions& options) {
  if (!(alpha >= 0 && alpha <= 1)) return error("an alpha of {} is not between 0 and 1", alpha);
  return with_optimizer(model, options, [&](Optimizer& optimizer) -> Status {
    Cycle kept(retain, options.retain_batch, options.seed);
    Cycle forgotten(forget, options.forget_batch, derived_seed(options.seed, 1));
    for (int64_t step = 0; step < options.epochs * kept.batches_per_epoch(); ++step) {
      ZKAPEX_TRY(const Batch keep, kept.next());
      ZKAPEX_TRY(const Batch lose, forgotten.next());
      const Tensor loss = cross_entropy(model, keep.to(model.placement())) * alpha -
                          cross_entropy(model, lose.to(model.placement())) * (1 - alpha);
      ZKAPEX_CHECK(sgd_step(optimizer, loss, keep.size(), options));
    }
    return Done{};
  });
}

Tensor distillation_loss(const Tensor& student_logits, const Tensor& teacher_logits, double temperature) {
  const Tensor student = at::log_softmax(student_logits / temperature, -1);
  const Tensor teacher = at::log_softmax(teacher_logits / temperature, -1);
  return (teacher.exp() * (teacher - student)).sum(-1).mean() * (temperature * temperature);
}

Status scrub(const Model& model, const Samples& forget, const Samples& retain, const ScrubOptions& options) {
  return with_optimizer(model, options.base, [&](Optimizer& optimizer) -> Status {
    const std::unique_ptr<Model> teacher = clone(model);
    const auto distance = [&](const Batch& batch, const Tensor& student) {
      const at::NoGradGuard no_grad;
      const Tensor target = teacher->logits(batch.inputs);
      const at::AutoGradMode grad(true);
      return distillation_loss(student, target, options.temperature);
    };
    const LossOf away = [&](const Batch& batch) {
      return -distance(batch, model.logits(batch.inputs, {.training = true}));
    };
    const LossOf near = [&](const Batch& batch) {
      const Tensor student = model.logits(batch.inputs, {.training = true});
      return model.sample_losses(student, batch.labels).mean() * options.gamma +
             distance(batch, student) * options.alpha;
    };
    Cycle forgotten(forget, options.base.forget_batch, options.base.seed);
    Cycle kept(retain, options.base.retain_batch, derived_seed(options.base.seed, 1));
    for (int64_t epoch = 0; epoch < options.base.epochs; ++epoch) {
      if (epoch < options.max_steps) {
        ZKAPEX_CHECK(one_epoch(model, forgotten, optimizer, options.base, away));
      }
      ZKAPEX_CHECK(one_epoch(model, kept, optimizer, options.base, near));
    }
    return Done{};
  });
}

}  // namespace zkapex
