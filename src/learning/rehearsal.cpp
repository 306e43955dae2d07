#include "learning/rehearsal.h"

#include <cmath>
#include <set>

#include "learning/baselines.h"
#include "learning/cycle.h"
#include "learning/evaluation.h"
#include "learning/torch.h"
#include "learning/training_state.h"

namespace zkapex {

namespace {

constexpr int64_t kMeasuredAtOnce = 64;

// A client's model as the guide leaves it, and what it is held against.
struct Rehearsed {
  const SimulatedClient* client;
  std::unique_ptr<Model> moved;
  std::vector<Tensor> weights;  // of `moved`, the covered ones
  Cycle retained;               // D_r in the client's domain
  Tensor held_out;              // θ_k's losses on held-out data, in order
};

Result<std::vector<int64_t>> classes_of(const Samples& samples) {
  std::set<int64_t> found;
  ZKAPEX_CHECK(samples.batches(kMeasuredAtOnce)([&](const Batch& batch) -> Status {
    if (batch.labels.dim() != 1) return error("text has no classes: forget samples");
    for (int64_t k = 0; k < batch.size(); ++k) found.insert(batch.labels[k].item<int64_t>());
    return Done{};
  }));
  return std::vector<int64_t>(found.begin(), found.end());
}

Tensor class_loss(const Tensor& logits, const Tensor& classes) {
  const Tensor p = at::softmax(logits, -1).index_select(-1, classes).sum(-1);
  return -at::log1p(-p.clamp_max(1 - 1e-6)).mean();
}

// The losses of a batch against as many quantiles of `held_out`, both in order.
Tensor sample_loss(const Tensor& losses, const Tensor& held_out) {
  const auto n = static_cast<double>(losses.numel()), m = static_cast<double>(held_out.numel());
  const Tensor places = ((at::arange(losses.numel(), held_out.options()) + 0.5) * (m / n)).floor().to(at::kLong);
  return (std::get<0>(losses.sort()) - held_out.index_select(0, places)).abs().mean();
}

Batch joined(const Batch& a, const Batch& b) { return {at::cat({a.inputs, b.inputs}), at::cat({a.labels, b.labels})}; }

class Rehearsal {
 public:
  Rehearsal(const RehearsalData& data, const RehearsalOptions& options)
      : options_(options),
        forget_(data.forget, options.batch, derived_seed(options.seed, 1)),
        retain_(data.retain, options.batch / 2, derived_seed(options.seed, 2)) {}

  Status prepare(const std::vector<SimulatedClient>& clients, const std::vector<std::string>& covered,
                 const RehearsalData& data) {
    const Placement& placement = clients.front().model->placement();
    if (options_.forgetting == Forgetting::kClasses) {
      ZKAPEX_TRY(const std::vector<int64_t> classes, classes_of(data.forget));
      classes_ = at::tensor(classes, at::kLong).to(placement.device);
    }
    for (const SimulatedClient& client : clients) {
      Rehearsed one{&client,
                    clone(*client.model),
                    {},
                    Cycle(client.retained, options_.batch - options_.batch / 2, derived_seed(options_.seed, 3)),
                    {}};
      for (const std::string& name : covered)
        one.weights.push_back(one.moved->parameters().find(name)->set_requires_grad(true));
      if (options_.forgetting == Forgetting::kSamples) {
        ZKAPEX_TRY(const Evaluation losses, evaluate(*client.model, data.held_out->batches(kMeasuredAtOnce)));
        one.held_out = std::get<0>(at::tensor(losses.losses, at::kFloat).sort()).to(placement.device);
      }
      clients_.push_back(std::move(one));
    }
    for (size_t k = 0; k < covered.size(); ++k) {
      const Tensor zero = at::zeros_like(clients_.front().weights[k].detach());
      guide_.push_back({covered[k], zero.set_requires_grad(true)});
    }
    return Done{};
  }

  Status run(const RehearsalObserver& observe) {
    const auto adam = make_adamw(guide_, {.weight_decay = 0});
    const TrainingState state(*adam, "rehearsal " + options_.text());
    int64_t first = 0;
    if (options_.checkpoint) {
      ZKAPEX_TRY(first, state.load(*options_.checkpoint));
    }
    for (int64_t step = first; step < options_.steps; ++step) {
      ZKAPEX_TRY(const RehearsalStep now, gradients(step));
      if (!std::isfinite(now.keep + now.forget)) return error("the loss is not finite: lower the learning rate");
      adam->step(options_.rate * rate_factor(Schedule::kLinear, step, options_.steps, 0));
      if (options_.checkpoint && (step + 1) % options_.checkpoint_every == 0) {
        ZKAPEX_CHECK(state.save(*options_.checkpoint, step + 1));
      }
      if (observe) {
        ZKAPEX_CHECK(observe(now));
      }
    }
    return Done{};
  }

  [[nodiscard]] std::vector<Tensor> guide() const {
    std::vector<Tensor> out;
    for (const Trainable& p : guide_) out.push_back(p.value.detach());
    return out;
  }

 private:
  // The guide's gradients at one client.
  Result<RehearsalStep> gradients(int64_t step) {
    Rehearsed& at_client = clients_[static_cast<size_t>(step) % clients_.size()];
    const auto round = step / static_cast<int64_t>(clients_.size());
    const GuidedMap& map = at_client.client->map;
    {
      const at::NoGradGuard no_grad;
      for (size_t k = 0; k < guide_.size(); ++k) at_client.weights[k].copy_(map.weights(k, guide_[k].value));
    }
    const Placement& placement = at_client.moved->placement();
    ZKAPEX_TRY(const Batch forget, forget_.at(step));
    ZKAPEX_TRY(const Batch plain, retain_.at(step));
    ZKAPEX_TRY(const Batch own, at_client.retained.at(round));
    const Batch lost = forget.to(placement), kept = joined(plain, own).to(placement);
    const Tensor all = at_client.moved->logits(at::cat({lost.inputs, kept.inputs}));
    const Tensor forget_loss = forgetting(at_client, all.narrow(0, 0, lost.size()), lost.labels);
    const Tensor keep_loss =
        distillation_loss(all.narrow(0, lost.size(), kept.size()), own_answers(*at_client.client, kept), 1);
    for (const Tensor& weight : at_client.weights) weight.mutable_grad().reset();
    (keep_loss + forget_loss * options_.weight).backward();
    const at::NoGradGuard no_grad;
    for (size_t k = 0; k < guide_.size(); ++k)
      guide_[k].value.mutable_grad() = map.guide_gradient(k, at_client.weights[k].grad());
    return RehearsalStep{step + 1, options_.steps, keep_loss.item<double>(), forget_loss.item<double>()};
  }

  Tensor forgetting(const Rehearsed& client, const Tensor& logits, const Tensor& labels) const {
    if (options_.forgetting == Forgetting::kClasses) return class_loss(logits, classes_);
    return sample_loss(client.moved->sample_losses(logits, labels), client.held_out);
  }

  static Tensor own_answers(const SimulatedClient& client, const Batch& batch) {
    const at::NoGradGuard no_grad;
    return client.model->logits(batch.inputs);
  }

  const RehearsalOptions& options_;
  Cycle forget_, retain_;
  Tensor classes_;  // that are forgotten
  std::vector<Rehearsed> clients_;
  std::vector<Trainable> guide_;
};

}  // namespace

Result<Forgetting> forgetting_named(std::string_view name) {
  if (name == "classes") return Forgetting::kClasses;
  if (name == "samples") return Forgetting::kSamples;
  return error("one forgets classes or samples, not '{}'", name);
}

Status RehearsalOptions::check() const {
  if (steps <= 0 || batch < 2 || checkpoint_every <= 0) return error("steps must be positive, a batch two at least");
  if (!(rate > 0 && std::isfinite(rate)) || !(weight > 0 && std::isfinite(weight)))
    return error("the learning rate and the weight of forgetting must be positive");
  return Done{};
}

std::string RehearsalOptions::text() const {
  return fmt::format("forgetting={} steps={} batch={} rate={} weight={} seed={}", static_cast<int>(forgetting), steps,
                     batch, rate, weight, seed);
}

Result<std::vector<Tensor>> rehearse(const std::vector<SimulatedClient>& clients,
                                     const std::vector<std::string>& covered, const RehearsalData& data,
                                     const RehearsalOptions& options, const RehearsalObserver& observe) {
  return catch_torch([&]() -> Result<std::vector<Tensor>> {
    const at::AutoGradMode grad(true);
    ZKAPEX_CHECK(options.check());
    if (options.forgetting == Forgetting::kSamples && !data.held_out)
      return error("to forget samples needs samples that were never trained on");
    if (clients.empty()) return error("there is no client to rehearse with");
    Rehearsal rehearsal(data, options);
    ZKAPEX_CHECK(rehearsal.prepare(clients, covered, data));
    ZKAPEX_CHECK(rehearsal.run(observe));
    return rehearsal.guide();
  });
}

}  // namespace zkapex
