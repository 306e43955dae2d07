// Which weights a forget set leans on: scores that a mask is cut from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learning/fisher.h"

namespace zkapex {

enum class SaliencyKind {
  kPaper,        // −g·θ + ½·(C + damping)·θ² on the forget set: the loss's change when θ_i is set to zero
  kRetainRatio,  // that score divided by ρ times the same on a sample of the retained data, plus 1e-12
  kMagnitude,    // |θ|: a control
  kRandom,       // uniform: a control
};
[[nodiscard]] Result<SaliencyKind> saliency_kind(std::string_view name);

struct SaliencyOptions {
  SaliencyKind kind = SaliencyKind::kPaper;
  double damping = 0;
  double retain_weight = 1;  // ρ
  uint64_t seed = 0;         // of kRandom
};

// The second-order score of one weight.
[[nodiscard]] Tensor second_order_score(const Tensor& weight, const Tensor& gradient, const Tensor& diagonal,
                                        double damping);

// One tensor of scores per covered weight. `retain` is needed by kRetainRatio only, `forget` not by the controls.
[[nodiscard]] Result<std::vector<Tensor>> saliency(const Model& model, const std::vector<std::string>& covered,
                                                   const SaliencyOptions& options,
                                                   const std::optional<BatchSource>& forget,
                                                   const std::optional<BatchSource>& retain);

}  // namespace zkapex
