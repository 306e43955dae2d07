#include "learning/saliency.h"

#include <ATen/CPUGeneratorImpl.h>

#include "learning/torch.h"

namespace zkapex {

Result<SaliencyKind> saliency_kind(std::string_view name) {
  if (name == "paper") return SaliencyKind::kPaper;
  if (name == "retain-ratio") return SaliencyKind::kRetainRatio;
  if (name == "magnitude") return SaliencyKind::kMagnitude;
  if (name == "random") return SaliencyKind::kRandom;
  return error("there is no saliency '{}' (paper, retain-ratio, magnitude, random)", name);
}

Tensor second_order_score(const Tensor& weight, const Tensor& gradient, const Tensor& diagonal, double damping) {
  return (diagonal + damping) * weight.square() * 0.5 - gradient * weight;
}

namespace {

Result<std::vector<Tensor>> second_order_scores(const Model& model, const std::vector<std::string>& covered,
                                                const std::optional<BatchSource>& batches, double damping) {
  if (!batches) return error("this saliency needs samples that were not given");
  ZKAPEX_TRY(const DiagonalFisher fisher, diagonal_fisher(model, *batches, covered));
  std::vector<Tensor> out;
  for (size_t k = 0; k < covered.size(); ++k) {
    const Tensor weight = model.parameters().find(covered[k])->detach();
    out.push_back(second_order_score(weight, fisher.gradient[k], fisher.diagonal[k], damping));
  }
  return out;
}

}  // namespace

Result<std::vector<Tensor>> saliency(const Model& model, const std::vector<std::string>& covered,
                                     const SaliencyOptions& options, const std::optional<BatchSource>& forget,
                                     const std::optional<BatchSource>& retain) {
  return catch_torch([&]() -> Result<std::vector<Tensor>> {
    const at::NoGradGuard no_grad;
    if (options.kind == SaliencyKind::kPaper || options.kind == SaliencyKind::kRetainRatio) {
      ZKAPEX_TRY(std::vector<Tensor> scores, second_order_scores(model, covered, forget, options.damping));
      if (options.kind == SaliencyKind::kPaper) return scores;
      ZKAPEX_TRY(const auto against, second_order_scores(model, covered, retain, options.damping));
      for (size_t k = 0; k < scores.size(); ++k) scores[k].div_(against[k] * options.retain_weight + 1e-12);
      return scores;
    }
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(options.seed);
    std::vector<Tensor> scores;
    for (const std::string& name : covered) {
      const Tensor weight = model.parameters().find(name)->detach();
      const bool magnitude = options.kind == SaliencyKind::kMagnitude;
      scores.push_back(magnitude ? weight.abs() : at::zeros(weight.sizes(), at::kFloat).uniform_(0, 1, generator));
    }
    return scores;
  });
}

}  // namespace zkapex
