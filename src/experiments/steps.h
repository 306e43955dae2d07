// The steps between images and figures, each once, for the demo and for the experiments: learning, masking, curvature,
// the operator.
#pragma once

#include "learning/fisher_store.h"
#include "learning/saliency.h"
#include "learning/training.h"
#include "parties/work.h"

namespace zkapex {

// Trains under a bar with the label; the seconds it took.
[[nodiscard]] Result<double> fit(Model& model, const Samples& samples, Method method, const TrainingOptions& options,
                                 ProgressStyle progress, const std::string& label);

// What the provider fixes and the client computes with.
struct OperatorSettings {
  std::string ratio = "0.04", error = "1e-5";
  uint64_t block = 256, floor = 16;
  uint32_t curvature_bits = 8;
  uint64_t cap = Parameters().cap_numerator;  // Σ_C x² <= cap · Σ_M x²
  AnchorLimits anchor = {};
  Damping damping;
  int64_t saliency_samples = 1024, fisher_samples = 2048;
};

// For models with the tensors of this checkpoint, at which it is anchored; the MLPs are covered. `family` is "vit" or
// "opt".
[[nodiscard]] Result<Deployment> mlp_deployment(const Path& checkpoint, const std::string& family,
                                                const OperatorSettings& settings);
[[nodiscard]] inline Result<Deployment> vit_deployment(const Path& checkpoint, const OperatorSettings& settings) {
  return mlp_deployment(checkpoint, "vit", settings);
}

// Ψ: the highest scores of `model`, which need not be the model that is masked.
[[nodiscard]] Result<Mask> cut_mask(Model& model, const Deployment& deployment, const std::string& ratio,
                                    const SaliencyOptions& options, const std::optional<BatchSource>& forget,
                                    const std::optional<BatchSource>& retain, const std::string& window);

// The curvature store of `model` on `batches`.
[[nodiscard]] Result<FisherStoreReport> write_curvature(Model& model, const BatchSource& batches,
                                                        const Deployment& deployment, const Damping& damping,
                                                        const Path& store, const WorkSettings& work,
                                                        const std::string& label);

}  // namespace zkapex
