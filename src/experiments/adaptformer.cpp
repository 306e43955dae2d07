// The paper's AdaptFormer table: the same unlearning where clients train small branches beside a frozen model.
#include "experiments/kinds.h"
#include "experiments/vision_experiment.h"

namespace zkapex {

namespace {

using nlohmann::json;

class AdaptFormerTable final : public VisionExperiment {
 public:
  using VisionExperiment::VisionExperiment;

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    VisionPlan plan;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    reader.require(plan.settings.personalization.method == Method::kAdaptFormer, "vision",
                   "must personalize by adaptformer");
    ZKAPEX_CHECK(reader.finish());
    for (size_t k = 0; k < plan.requests.size(); ++k) add_comparison(plan, k);
    return std::unique_ptr<Experiment>(std::make_unique<AdaptFormerTable>(std::move(plan)));
  }

  [[nodiscard]] ExperimentReport report(const Results& cells, const json& paper) const override {
    Results results = cells;
    ExperimentReport out;
    out.title = "AdaptFormer: small branches beside a frozen model";
    out.chart.title = "Accuracy with AdaptFormer (mean and deviation over seeds)";
    for (size_t k = 0; k < plan().requests.size(); ++k) add_comparison_table(results, k, paper, out);
    return out;
  }
};

}  // namespace

ExperimentKind adaptformer_experiment() {
  return {"adaptformer", "Personalization by AdaptFormer instead of full fine-tuning", AdaptFormerTable::make};
}

}  // namespace zkapex
