// Training: from random weights, or from a model to a personal one.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "learning/dataset.h"
#include "learning/optimizer.h"

namespace zkapex {

// What is trained: everything, the classifier alone, LoRA's or AdaptFormer's matrices (with the classifier).
enum class Method { kFull, kLinearProbe, kLora, kAdaptFormer };
[[nodiscard]] Result<Method> method_named(std::string_view name);

struct TrainingOptions {
  int64_t epochs = 1, batch = 32;
  double rate = 1e-3;
  AdamWOptions adamw = {};
  double layer_decay = 1;  // the rate of a layer is that of the next one times this
  Schedule schedule = Schedule::kLinear;
  double warmup = 0;     // fraction of all steps
  double clip_norm = 1;  // of the gradient; 0: not clipped
  uint64_t seed = 0;
  // Where to go on from, and where to write to, every so many steps and at the end of each epoch.
  std::optional<std::filesystem::path> checkpoint = {};
  int64_t checkpoint_every = 0;
  int64_t stop_after = 0;  // steps of this run, to be resumed from the checkpoint; 0: to the end

  [[nodiscard]] Status check() const;
  [[nodiscard]] std::string text() const;  // all that decides the result, to be compared on resuming
};

struct TrainingReport {
  int64_t steps = 0, samples = 0;  // of this run
  int64_t resumed_at = 0;
  std::vector<double> epoch_losses;  // means over the epochs finished in this run
  double seconds = 0;
};

// After every step; an error stops the training.
struct TrainingStep {
  int64_t step, total, samples;
  double loss;
};
using TrainingObserver = std::function<Status(const TrainingStep&)>;

// The parameters that `method` trains, ready for gradients; all others are frozen. LoRA's and AdaptFormer's must have
// been added.
[[nodiscard]] Result<std::vector<Trainable>> trainable_parameters(Model& model, Method method, double layer_decay);

// AdamW on the mean cross entropy. Deterministic given options and number of threads; a run that is stopped and resumed
// gives the same weights as one that is not.
[[nodiscard]] Result<TrainingReport> train(Model& model, const Samples& samples, Method method,
                                           const TrainingOptions& options, const TrainingObserver& observe = {});

}  // namespace zkapex
