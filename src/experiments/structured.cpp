// The paper's appendix on structured forget sets, and what it leaves open: how forgetting several classes depends on
// the mask ratio and on damping.
#include "experiments/kinds.h"
#include "experiments/vision_experiment.h"

namespace zkapex {

namespace {

using nlohmann::json;

struct TradeOff {
  std::vector<std::string> requests;  // names
  std::vector<double> ratios, dampings;

  [[nodiscard]] static std::string suffix(double ratio, double damping) {
    return fmt::format("ours-k={:g}-damping={:g}", ratio, damping);
  }
  [[nodiscard]] static std::string mask_suffix(double ratio) { return fmt::format("mask-only-k={:g}", ratio); }
};

class Structured final : public VisionExperiment {
 public:
  Structured(VisionPlan plan, TradeOff trade_off)
      : VisionExperiment(std::move(plan)), trade_off_(std::move(trade_off)) {}

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    VisionPlan plan;
    TradeOff trade_off;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    reader.part("trade_off", [&](const json& part, const std::string& where) {
      ConfigReader inner(part, where);
      inner.read("requests", trade_off.requests).read("ratios", trade_off.ratios).read("dampings", trade_off.dampings);
      return inner.finish();
    });
    ZKAPEX_CHECK(reader.finish());
    for (size_t k = 0; k < plan.requests.size(); ++k) add_comparison(plan, k);
    for (const size_t k : chosen(plan, trade_off)) {
      for (const double ratio : trade_off.ratios) {
        VisionVariant& masked = plan.add(k, TradeOff::mask_suffix(ratio), "mask only", "mask-only");
        masked.unlearning.ratio = fmt::format("{:g}", ratio);
        for (const double damping : trade_off.dampings) {
          VisionVariant& ours = plan.add(k, TradeOff::suffix(ratio, damping), "zkapex", "ours");
          ours.unlearning.ratio = fmt::format("{:g}", ratio);
          ours.unlearning.damping.value = damping;
        }
      }
    }
    return std::unique_ptr<Experiment>(std::make_unique<Structured>(std::move(plan), std::move(trade_off)));
  }

  [[nodiscard]] ExperimentReport report(const Results& cells, const json& paper) const override {
    Results results = cells;
    ExperimentReport out;
    out.title = "Structured forget sets: classes instead of random samples";
    std::vector<TableRow> differences;
    for (size_t k = 0; k < plan().requests.size(); ++k) {
      add_differences(results, plan().name(k, "ours"), plan().name(k, "exact"));
      differences.push_back({plan().name(k, "ours"), plan().requests[k].title});
    }
    out.markdown = "zkapex relative to exact unlearning, (zkapex − exact) / exact (– where exact is below 5 %):\n\n" +
                   markdown_table(results, difference_columns(), differences, paper) + "\n";
    out.table["differences"] = table_as_json(results, difference_columns(), differences, paper);
    for (size_t k = 0; k < plan().requests.size(); ++k) add_comparison_table(results, k, json::object(), out);
    out.chart = {.title = "Trade-off: forgetting against personal accuracy, along damping", .panels = {}};
    for (const size_t k : chosen(plan(), trade_off_)) add_trade_off(results, k, out);
    return out;
  }

 private:
  static std::vector<size_t> chosen(const VisionPlan& plan, const TradeOff& trade_off) {
    std::vector<size_t> out;
    for (size_t k = 0; k < plan.requests.size(); ++k) {
      for (const std::string& name : trade_off.requests) {
        if (plan.requests[k].name == name) out.push_back(k);
      }
    }
    return out;
  }

  void add_trade_off(const Results& results, size_t k, ExperimentReport& out) const {
    const ForgetRequest& request = plan().requests[k];
    std::vector<TableRow> rows;
    Panel panel{.title = request.title, .x_title = "personal accuracy (%)", .y_title = "held-out forget accuracy (%)"};
    const auto point = [&](Series& series, const std::string& variant) {
      const auto x = results.spread_of(variant, "personal_accuracy"),
                 y = results.spread_of(variant, "held_out_accuracy");
      if (x && y) series.points.push_back({100 * x->mean, 100 * y->mean, 100 * y->deviation});
    };
    for (const double ratio : trade_off_.ratios) {
      rows.push_back({plan().name(k, TradeOff::mask_suffix(ratio)), fmt::format("k = {:g} %, mask only", 100 * ratio)});
      Series series{.name = fmt::format("k = {:g} %", 100 * ratio)};
      for (const double damping : trade_off_.dampings) {
        const std::string variant = plan().name(k, TradeOff::suffix(ratio, damping));
        rows.push_back({variant, fmt::format("k = {:g} %, damping {:g}", 100 * ratio, damping)});
        point(series, variant);
      }
      panel.series.push_back(std::move(series));
    }
    for (const auto& [suffix, name] : {std::pair("before", "before"), {"exact", "exact"}}) {
      Series series{.name = name};
      point(series, plan().name(k, suffix));
      panel.series.push_back(std::move(series));
    }
    std::vector<TableColumn> columns = accuracy_columns();
    columns.insert(columns.end(),
                   {{"alignment/forget", "A_f", Unit::kPlain}, {"alignment/personal", "A_p", Unit::kPlain}});
    out.markdown +=
        fmt::format("## Trade-off, {}\n\n{}\n", request.title, markdown_table(results, columns, rows, json::object()));
    out.table[request.name + "-trade-off"] = table_as_json(results, columns, rows, json::object());
    out.chart.panels.push_back(std::move(panel));
  }

  TradeOff trade_off_;
};

}  // namespace

ExperimentKind structured_experiment() {
  return {"structured", "One class, several classes, random samples; trade-off over mask ratio and damping",
          Structured::make};
}

}  // namespace zkapex
