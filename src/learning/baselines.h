// Other ways to unlearn, to be compared with: each changes a model in place, by published recipes.
#pragma once

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "learning/dataset.h"
#include "learning/optimizer.h"

namespace zkapex {

// Sets the masked weights to zero and changes nothing else.
[[nodiscard]] Status mask_only(const Model& model, const std::vector<std::string>& covered,
                               const std::vector<Tensor>& masks);

struct BaselineOptions {
  int64_t epochs = 1;
  double rate = 1e-4;
  SgdOptions sgd = {};
  int64_t forget_batch = 256, retain_batch = 256;
  uint64_t seed = 0;
  // Where to go on from, and where to write to after every pass over a set.
  std::optional<std::filesystem::path> checkpoint = {};
  std::function<void(int64_t)> advance = {};  // told after each step how many samples it took

  [[nodiscard]] Status check() const;
  [[nodiscard]] std::string text() const;  // all that decides the result, to be compared on resuming
};

// GA: SGD on −CE over the forget set.
[[nodiscard]] Status gradient_ascent(const Model& model, const Samples& forget, const BaselineOptions& options);

// NegGrad+: α · CE on the retained data − (1 − α) · CE on the forget set, one pass over the retained data per epoch.
[[nodiscard]] Status neggrad_plus(const Model& model, const Samples& forget, const Samples& retain, double alpha,
                                  const BaselineOptions& options);

struct ScrubOptions {
  BaselineOptions base{.epochs = 3, .rate = 5e-4, .sgd = {}, .forget_batch = 32, .retain_batch = 128, .seed = 0};
  double gamma = 0.99, alpha = 0.001, temperature = 4;
  int64_t max_steps = 2;  // epochs that begin with a pass over the forget set
};
// SCRUB: away from the model as it was on the forget set (−KL), then near it on the retained data (γ·CE + α·KL).
[[nodiscard]] Status scrub(const Model& model, const Samples& forget, const Samples& retain,
                           const ScrubOptions& options);

// KL(softmax(teacher / T) ‖ softmax(student / T)) · T², mean over predictions (rows of the last dimension).
[[nodiscard]] Tensor distillation_loss(const Tensor& student_logits, const Tensor& teacher_logits, double temperature);

}  // namespace zkapex
