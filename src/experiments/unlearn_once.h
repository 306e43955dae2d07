// One personal model, unlearned in one way, and what is measured of it.
#pragma once

#include "experiments/vision.h"
#include "learning/apply_to_model.h"

namespace zkapex {

// What the provider publishes.
struct Published {
  Deployment deployment;
  Mask mask;
};
struct MaskRecipe {
  bool at_personal = false;  // scores of θ_p instead of θ0: what a provider cannot have
  SaliencyKind kind = SaliencyKind::kPaper;
};
[[nodiscard]] Result<Published> publish(Vision& vision, const OperatorSettings& settings,
                                        const MaskRecipe& recipe = {});

// θ_p with the mask applied and nothing else done.
[[nodiscard]] Result<std::unique_ptr<Model>> masked_model(Vision& vision, const Published& published);

// The curvature of θ_p on D_p.
[[nodiscard]] Result<FisherStoreReport> personal_curvature(Vision& vision, Model& personal, const Published& published,
                                                           const OperatorSettings& settings, const Path& store);

// θ_u by the operator, and how it went.
struct Compensated {
  std::unique_ptr<Model> model;
  ObsSummary summary;
  FisherStoreReport curvature;

  [[nodiscard]] nlohmann::ordered_json describe(const Published& published) const;
};
// `personal` is the folder of θ_p.
[[nodiscard]] Result<Compensated> compensated_model(Vision& vision, const Path& personal, const Published& published,
                                                    const OperatorSettings& settings);

// θ_u by the client's own commands, with a proof that the provider verifies. The figures are times, sizes and memory.
struct Proved {
  std::unique_ptr<Model> model;
  nlohmann::ordered_json figures;
};
[[nodiscard]] Result<Proved> proved_model(Vision& vision, const Published& published, const OperatorSettings& settings);

// By "ga", "neggrad+" or "scrub", from θ_p.
[[nodiscard]] Result<std::unique_ptr<Model>> baseline_model(Vision& vision, const std::string& method);

// Accuracies on D_f ("forget_accuracy"), on held-out photos like it ("held_out_accuracy"), on other ones
// ("retained_accuracy") and on personal data ("personal_accuracy"), "membership", and "alignment" with exact unlearning
// if that is given.
[[nodiscard]] Result<nlohmann::ordered_json> figures_of(Vision& vision, const Model& model, const Model* exact);

// Adds "recovery" = (this − masked) / (before − masked) of personal accuracies; null where the mask did no harm.
void add_recovery(Results& results, const std::string& variant, const std::string& before, const std::string& masked);
// Adds how far the held-out and the personal accuracy are from those of exact unlearning: "forget_gap" and
// "personal_gap", differences, and "forget_difference" and "personal_difference", the same divided by the exact model's
// accuracy, as the paper's appendices have them (null where that is zero).
void add_differences(Results& results, const std::string& variant, const std::string& exact);

}  // namespace zkapex
