// The paper's AdaptFormer table, and one of LoRA that it has not: the same unlearning where clients train small
// matrices beside a frozen model.
#include "experiments/kinds.h"
#include "experiments/vision_experiment.h"

namespace zkapex {

namespace {

using nlohmann::json;

class AdapterTable final : public VisionExperiment {
 public:
  using VisionExperiment::VisionExperiment;

  static Result<std::unique_ptr<Experiment>> make(const json& settings, Method method) {
    VisionPlan plan;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    reader.require(plan.settings.personalization.method == method, "vision",
                   "must personalize by the method of the experiment's name");
    ZKAPEX_CHECK(reader.finish());
    for (size_t k = 0; k < plan.requests.size(); ++k) add_comparison(plan, k);
    return std::unique_ptr<Experiment>(std::make_unique<AdapterTable>(std::move(plan)));
  }

  [[nodiscard]] ExperimentReport report(const Results& cells, const json& paper) const override {
    Results results = cells;
    ExperimentReport out;
    const bool lora = plan().settings.personalization.method == Method::kLora;
    out.title =
        lora ? "LoRA: small matrices, merged into the model" : "AdaptFormer: small branches beside a frozen model";
    out.chart.title = fmt::format("Accuracy with {} (mean and deviation over seeds)", lora ? "LoRA" : "AdaptFormer");
    for (size_t k = 0; k < plan().requests.size(); ++k) add_comparison_table(results, k, paper, out);
    return out;
  }
};

}  // namespace

ExperimentKind adaptformer_experiment() {
  return {"adaptformer", "Personalization by AdaptFormer instead of full fine-tuning",
          [](const json& settings) { return AdapterTable::make(settings, Method::kAdaptFormer); }};
}

ExperimentKind lora_experiment() {
  return {"lora", "Personalization by LoRA instead of full fine-tuning",
          [](const json& settings) { return AdapterTable::make(settings, Method::kLora); }};
}

}  // namespace zkapex
