// The paper's appendix on the size of the forget set: from 2.6 % to 20 % of the data, drawn at random, one mask ratio.
#include <charconv>

#include "experiments/kinds.h"
#include "experiments/vision_experiment.h"

namespace zkapex {

namespace {

using nlohmann::json;

// 0.026 of "random:0.026".
std::optional<double> fraction_of(const ForgetRequest& request) {
  constexpr std::string_view kRule = "random:";
  if (!request.forget.starts_with(kRule)) return std::nullopt;
  double out = 0;
  const char* end = request.forget.data() + request.forget.size();
  const auto [at, code] = std::from_chars(request.forget.data() + kRule.size(), end, out);
  if (code != std::errc() || at != end) return std::nullopt;
  return out;
}

class ForgetSize final : public VisionExperiment {
 public:
  using VisionExperiment::VisionExperiment;

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    VisionPlan plan;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    for (const ForgetRequest& request : plan.requests)
      reader.require(fraction_of(request).has_value(), "requests", "must be like random:0.05 here");
    ZKAPEX_CHECK(reader.finish());
    for (size_t k = 0; k < plan.requests.size(); ++k) add_comparison(plan, k);
    return std::unique_ptr<Experiment>(std::make_unique<ForgetSize>(std::move(plan)));
  }

  [[nodiscard]] ExperimentReport report(const Results& cells, const json& paper) const override {
    Results results = cells;
    ExperimentReport out;
    out.title = "Size of the forget set, at one mask ratio";
    out.chart.title = "Forgetting a growing part of the data";
    std::vector<TableRow> rows;
    std::vector<CurvePoint> before, masked, ours, exact;
    for (size_t k = 0; k < plan().requests.size(); ++k) {
      const double percent = 100 * *fraction_of(plan().requests[k]);
      before.push_back({percent, plan().name(k, "before")});
      masked.push_back({percent, plan().name(k, "mask-only")});
      ours.push_back({percent, plan().name(k, "ours")});
      exact.push_back({percent, plan().name(k, "exact")});
      add_differences(results, plan().name(k, "ours"), plan().name(k, "exact"));
      rows.push_back({plan().name(k, "ours"), plan().requests[k].title});
    }
    out.markdown = "zkapex relative to exact unlearning, (zkapex − exact) / exact:\n\n" +
                   markdown_table(results, difference_columns(), rows, paper) + "\n";
    out.table["differences"] = table_as_json(results, difference_columns(), rows, paper);
    for (size_t k = 0; k < plan().requests.size(); ++k) add_comparison_table(results, k, json::object(), out);
    out.chart.panels.clear();
    for (const auto& [key, title] :
         {std::pair("held_out_accuracy", "held-out photos like D_f"), {"personal_accuracy", "personal sketches"}}) {
      out.chart.panels.push_back(
          {.title = title,
           .x_title = "|D_f| / |D| (%)",
           .y_title = "accuracy (%)",
           .series = {curve(results, "before", key, before), curve(results, "mask only", key, masked),
                      curve(results, "zkapex", key, ours), curve(results, "exact", key, exact)}});
    }
    out.chart.panels.push_back({.title = "relative to exact",
                                .x_title = "|D_f| / |D| (%)",
                                .y_title = "difference (%)",
                                .series = {curve(results, "Δ forget", "forget_difference", ours),
                                           curve(results, "Δ personal", "personal_difference", ours)}});
    return out;
  }
};

}  // namespace

ExperimentKind forget_size_experiment() {
  return {"forget-size", "Forget sets from 2.6 % to 20 % of the data", ForgetSize::make};
}

}  // namespace zkapex
