// The paper's stability claim: a mask that the provider cuts at θ0 is close to the one that would be cut at θ_p, which
// nobody may compute. Other scores are there as controls.
#include <algorithm>
#include <iterator>

#include "experiments/kinds.h"
#include "experiments/vision_experiment.h"

namespace zkapex {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct Anchor {
  const char *name, *title;
  MaskRecipe recipe;
};

constexpr Anchor kAnchors[] = {
    {"original", "paper's score at θ0", {.at_personal = false, .kind = SaliencyKind::kPaper}},
    {"personal", "paper's score at θ_p", {.at_personal = true, .kind = SaliencyKind::kPaper}},
    {"retain-ratio", "ratio to retained data, at θ0", {.at_personal = false, .kind = SaliencyKind::kRetainRatio}},
    {"magnitude", "magnitude at θ0", {.at_personal = false, .kind = SaliencyKind::kMagnitude}},
    {"random", "random", {.at_personal = false, .kind = SaliencyKind::kRandom}},
};

class SaliencyAnchor final : public VisionExperiment {
 public:
  using VisionExperiment::VisionExperiment;

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    VisionPlan plan;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    ZKAPEX_CHECK(reader.finish());
    for (size_t k = 0; k < plan.requests.size(); ++k) {
      plan.add(k, "before", "before unlearning", "before");
      for (const Anchor& anchor : kAnchors) {
        plan.add(k, masked(anchor), fmt::format("mask only, {}", anchor.title), "mask-only").mask = anchor.recipe;
        plan.add(k, ours(anchor), fmt::format("zkapex, {}", anchor.title), "ours").mask = anchor.recipe;
      }
      plan.add(k, "exact", "*exact*", "exact");
    }
    return std::unique_ptr<Experiment>(std::make_unique<SaliencyAnchor>(std::move(plan)));
  }

  [[nodiscard]] ExperimentReport report(const Results& cells, const json& paper) const override {
    Results results = cells;
    ExperimentReport out;
    out.title = "Where the mask is cut: θ0 or θ_p";
    out.chart.title = "Accuracy by where and how the mask is cut";
    std::vector<TableColumn> columns = {{"mask_overlap", "shared with the mask at θ0", Unit::kPercent}};
    for (const TableColumn& column : accuracy_columns()) columns.push_back(column);
    columns.insert(columns.end(), {{"recovery", "recovered", Unit::kPercent},
                                   {"membership/auc", "MIA AUC", Unit::kPercent},
                                   {"alignment/forget", "A_f", Unit::kPlain},
                                   {"alignment/personal", "A_p", Unit::kPlain}});
    for (size_t k = 0; k < plan().requests.size(); ++k) {
      std::vector<TableRow> bars;
      for (const Anchor& anchor : kAnchors) {
        add_recovery(results, plan().name(k, ours(anchor)), plan().name(k, "before"), plan().name(k, masked(anchor)));
        bars.push_back({plan().name(k, ours(anchor)), anchor.name});
      }
      bars.push_back({plan().name(k, "exact"), "exact"});
      const ForgetRequest& request = plan().requests[k];
      out.markdown += fmt::format("## {}\n\n{}\n", request.title, markdown_table(results, columns, rows(k), paper));
      out.table[request.name] = table_as_json(results, columns, rows(k), paper);
      out.chart.panels.push_back(accuracy_bars(results, request.title, bars));
    }
    return out;
  }

 protected:
  // The share of masked weights that the provider's own mask has too. By chance it would be the mask ratio.
  [[nodiscard]] Status add_figures(Vision& vision, const VisionVariant& variant, const Model& /*model*/,
                                   const Published* published, ordered_json& figures) const override {
    if (published == nullptr) return Done{};
    ZKAPEX_TRY(const Published provider, publish(vision, variant.unlearning));
    std::vector<uint64_t> shared;
    std::ranges::set_intersection(published->mask.support, provider.mask.support, std::back_inserter(shared));
    figures["mask_overlap"] = static_cast<double>(shared.size()) / static_cast<double>(provider.mask.support.size());
    return Done{};
  }

 private:
  static std::string masked(const Anchor& anchor) { return fmt::format("mask-only-{}", anchor.name); }
  static std::string ours(const Anchor& anchor) { return fmt::format("ours-{}", anchor.name); }
};

}  // namespace

ExperimentKind saliency_anchor_experiment() {
  return {"saliency-anchor", "Masks cut at θ0 and at θ_p, and controls: overlap and result", SaliencyAnchor::make};
}

}  // namespace zkapex
