#include "learning/evaluation.h"

#include <cmath>
#include <limits>

#include "learning/torch.h"

namespace zkapex {

namespace {

// Predictions side by side: logits [p, answers] and the right answers [p], those that count for nothing left out.
struct Predictions {
  Tensor logits, answers;
};

Predictions predictions_of(const Tensor& logits, const Tensor& labels) {
  if (logits.dim() == 2) return {logits, labels};
  const int64_t length = labels.size(1);
  const Tensor answers = labels.narrow(1, 1, length - 1).reshape({-1});
  const Tensor rows = logits.narrow(1, 0, length - 1).reshape({-1, logits.size(2)});
  const Tensor counted = at::nonzero(answers != Batch::kIgnored).flatten();
  return {rows.index_select(0, counted), answers.index_select(0, counted)};
}

}  // namespace

Result<Evaluation> evaluate(const Model& model, const BatchSource& batches) {
  return catch_torch([&]() -> Result<Evaluation> {
    const at::NoGradGuard no_grad;
    Evaluation out;
    double right = 0, loss = 0;
    ZKAPEX_CHECK(batches([&](const Batch& batch) -> Status {
      const Batch placed = batch.to(model.placement());
      const Tensor logits = model.logits(placed.inputs);
      const Tensor losses = model.sample_losses(logits, placed.labels).to(at::kDouble).cpu();
      const Predictions p = predictions_of(logits, placed.labels);
      right += static_cast<double>((p.logits.argmax(1) == p.answers).sum().item<int64_t>());
      loss += at::cross_entropy_loss(p.logits, p.answers, {}, at::Reduction::Sum).item<double>();
      if (!std::isfinite(loss)) return error("the loss of a sample is not finite (NaN or infinite)");
      out.samples += batch.size();
      out.predictions += p.answers.numel();
      out.losses.insert(out.losses.end(), losses.data_ptr<double>(), losses.data_ptr<double>() + losses.numel());
      return Done{};
    }));
    if (out.predictions == 0) return error("there is nothing to evaluate");
    out.accuracy = right / static_cast<double>(out.predictions);
    out.mean_loss = loss / static_cast<double>(out.predictions);
    out.perplexity = std::exp(out.mean_loss);
    return out;
  });
}

Result<double> alignment(const Model& model, const Model& reference, const BatchSource& batches) {
  return catch_torch([&]() -> Result<double> {
    const at::NoGradGuard no_grad;
    double sum = 0;
    int64_t count = 0;
    ZKAPEX_CHECK(batches([&](const Batch& batch) -> Status {
      const Batch placed = batch.to(model.placement());
      const auto log_probabilities = [&](const Model& m) {
        return at::log_softmax(predictions_of(m.logits(placed.inputs), placed.labels).logits.to(at::kDouble), 1);
      };
      const Tensor own = log_probabilities(model), other = log_probabilities(reference);
      if (own.sizes() != other.sizes()) return error("the two models do not choose among the same answers");
      sum += (own.exp() * (own - other)).sum().item<double>();
      count += own.size(0);
      return Done{};
    }));
    if (count == 0) return error("there is nothing to compare on");
    return sum / static_cast<double>(count);
  });
}

double recovery(double before, double masked, double after) {
  if (before == masked) return std::numeric_limits<double>::quiet_NaN();
  return (after - masked) / (before - masked);
}

}  // namespace zkapex
