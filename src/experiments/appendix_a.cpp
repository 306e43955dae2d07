// The paper's appendix A, measured: the terms that compensation adds to the loss on the forget set, and the bound that
// is to keep them from undoing the mask.
#include "experiments/kinds.h"
#include "experiments/vision_experiment.h"
#include "learning/forgetting_terms.h"
#include "learning/mask_tensors.h"

namespace zkapex {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

class AppendixA final : public VisionExperiment {
 public:
  AppendixA(VisionPlan plan, std::vector<double> dampings)
      : VisionExperiment(std::move(plan)), dampings_(std::move(dampings)) {}

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    VisionPlan plan;
    std::vector<double> dampings;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    reader.read("dampings", dampings);
    for (const double damping : dampings) reader.require(damping > 0, "dampings", "must be positive");
    ZKAPEX_CHECK(reader.finish());
    for (size_t k = 0; k < plan.requests.size(); ++k) {
      for (const double damping : dampings)
        plan.add(k, suffix(damping), fmt::format("λ = {:g}", damping), "ours").unlearning.damping.value = damping;
    }
    return std::unique_ptr<Experiment>(std::make_unique<AppendixA>(std::move(plan), std::move(dampings)));
  }

  [[nodiscard]] ExperimentReport report(const Results& results, const json& paper) const override {
    const std::vector<TableColumn> columns = {{"terms/mask", "S_mask", Unit::kPlain},
                                              {"terms/linear", "linear", Unit::kPlain},
                                              {"terms/cross", "cross", Unit::kPlain},
                                              {"terms/quadratic", "quadratic", Unit::kPlain},
                                              {"terms/compensation", "f (sum of the three)", Unit::kPlain},
                                              {"terms/lower_bound", "bound on f from below", Unit::kScientific},
                                              {"terms/second_order", "S_mask + f", Unit::kPlain},
                                              {"terms/measured", "measured ΔL_f", Unit::kPlain},
                                              {"held_out_accuracy", "held-out, like D_f", Unit::kPercent},
                                              {"personal_accuracy", "personal", Unit::kPercent}};
    ExperimentReport out;
    out.title = "Appendix A: can compensation undo the mask?";
    out.chart.title = "Change of the loss on D_f: by the mask, by compensation, measured";
    for (size_t k = 0; k < plan().requests.size(); ++k) {
      const ForgetRequest& request = plan().requests[k];
      out.markdown += fmt::format("## {}\n\n{}\n", request.title, markdown_table(results, columns, rows(k), paper));
      out.table[request.name] = table_as_json(results, columns, rows(k), paper);
      std::vector<CurvePoint> points;
      for (const double damping : dampings_) points.push_back({damping, plan().name(k, suffix(damping))});
      Panel panel{.title = request.title,
                  .x_title = "damping, relative to a block's mean diagonal",
                  .y_title = "nats",
                  .log_x = true};
      for (const auto& [key, name] : {std::pair("terms/mask", "S_mask"),
                                      {"terms/compensation", "f: compensation"},
                                      {"terms/second_order", "S_mask + f"},
                                      {"terms/measured", "measured"}}) {
        panel.series.push_back(curve(results, name, key, points, Unit::kPlain));
      }
      out.chart.panels.push_back(std::move(panel));
    }
    return out;
  }

 protected:
  [[nodiscard]] Status add_figures(Vision& vision, const VisionVariant& variant, const Model& model,
                                   const Published* published, ordered_json& figures) const override {
    ZKAPEX_TRY(const Path personal, vision.personal());
    ZKAPEX_TRY(const auto before, vision.load(personal));
    ZKAPEX_TRY(const auto covered, covered_by(*before, published->deployment.layout()));
    ZKAPEX_TRY(const auto masks, mask_tensors(published->mask, published->deployment));
    ZKAPEX_TRY(const MeasuredSets sets, vision.measured_sets());
    // λ is meant relative to a block's curvature; the appendix has one number for all of H, the Fisher of D_f.
    ZKAPEX_TRY(const double mean_diagonal, mean_fisher_diagonal(*before, sets, covered));
    const double damping = variant.unlearning.damping.value * mean_diagonal;
    ZKAPEX_TRY(const ForgettingTerms t,
               forgetting_terms(*before, model, covered, masks, damping, sets.member_batches()));
    figures["terms"] = {{"mask", t.mask},
                        {"linear", t.linear},
                        {"cross", t.cross},
                        {"quadratic", t.quadratic},
                        {"compensation", t.compensation()},
                        {"lower_bound", -t.bound},
                        {"second_order", t.mask + t.compensation()},
                        {"measured", t.measured},
                        {"residual_gradient", t.residual_gradient},
                        {"damping", damping},
                        {"samples", t.samples}};
    return Done{};
  }

 private:
  static std::string suffix(double damping) { return fmt::format("ours-{:g}", damping); }

  static Result<double> mean_fisher_diagonal(const Model& model, const MeasuredSets& sets,
                                             const std::vector<std::string>& covered) {
    ZKAPEX_TRY(const DiagonalFisher fisher, diagonal_fisher(model, sets.member_batches(), covered));
    return catch_torch([&]() -> Result<double> {
      double sum = 0, count = 0;
      for (const Tensor& diagonal : fisher.diagonal) {
        sum += diagonal.sum(at::kDouble).item<double>();
        count += static_cast<double>(diagonal.numel());
      }
      return sum / count;
    });
  }

  std::vector<double> dampings_;
};

}  // namespace

ExperimentKind appendix_a_experiment() {
  return {"appendix-a", "What compensation does to the loss on the forget set, term by term", AppendixA::make};
}

}  // namespace zkapex
