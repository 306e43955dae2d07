// The paper's ablations: one setting of the operator at a time, everything else as in table 1.
#include "experiments/kinds.h"
#include "experiments/vision_experiment.h"

namespace zkapex {

namespace {

using nlohmann::json;

// What is varied.
struct Knob {
  const char* title;       // of the report
  const char* axis;        // of the picture
  const char* value_text;  // of rows, with the value for {}
  bool log_axis;
  bool changes_mask;  // so that "mask only" differs too
  void (*set)(OperatorSettings& settings, double value);
};

constexpr Knob kBlock{
    "Size of Fisher blocks", "block size B", "B = {:g}", true, false, [](OperatorSettings& s, double v) {
      s.block = static_cast<uint64_t>(v);
    }};
constexpr Knob kDamping{"Damping",  "damping, relative to a block's mean diagonal",
                        "λ = {:g}", true,
                        false,      [](OperatorSettings& s, double v) { s.damping.value = v; }};
constexpr Knob kSparsity{"Mask ratio", "mask ratio k",
                         "k = {:g}",   true,
                         true,         [](OperatorSettings& s, double v) { s.ratio = fmt::format("{:g}", v); }};

class Ablation final : public VisionExperiment {
 public:
  Ablation(VisionPlan plan, const Knob& knob, std::vector<double> values, std::vector<uint32_t> bits)
      : VisionExperiment(std::move(plan)), knob_(knob), values_(std::move(values)), bits_(std::move(bits)) {}

  static Result<std::unique_ptr<Experiment>> make(const Knob& knob, const json& settings) {
    VisionPlan plan;
    std::vector<double> values;
    std::vector<uint32_t> bits;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    reader.read("values", values).read("curvature_bits", bits);
    reader.require(!values.empty() && !bits.empty(), "values", "and curvature_bits must have something in them");
    for (const double value : values) reader.require(value > 0, "values", "must be positive");
    ZKAPEX_CHECK(reader.finish());
    for (size_t k = 0; k < plan.requests.size(); ++k) {
      plan.add(k, "before", "before unlearning", "before");
      plan.add(k, "exact", "*exact*", "exact");
      if (!knob.changes_mask) plan.add(k, "mask-only", "mask only", "mask-only");
      for (const double value : values) {
        const std::string text = fmt::format(fmt::runtime(knob.value_text), value);
        if (knob.changes_mask)
          knob.set(plan.add(k, suffix("mask-only", value), text + ", mask only", "mask-only").unlearning, value);
        for (const uint32_t width : bits) {
          VisionVariant& ours =
              plan.add(k, suffix("ours", value, width), fmt::format("{}, zkapex, {}-bit factors", text, width), "ours");
          ours.unlearning.curvature_bits = width;
          knob.set(ours.unlearning, value);
        }
      }
    }
    return std::unique_ptr<Experiment>(
        std::make_unique<Ablation>(std::move(plan), knob, std::move(values), std::move(bits)));
  }

  [[nodiscard]] ExperimentReport report(const Results& cells, const json& paper) const override {
    Results results = cells;
    ExperimentReport out;
    out.title = fmt::format("Ablation: {}", knob_.title);
    out.chart.title = fmt::format("{}: accuracy after unlearning", knob_.title);
    std::vector<TableColumn> columns = accuracy_columns();
    columns.insert(columns.end(), {{"recovery", "recovered", Unit::kPercent},
                                   {"membership/auc", "MIA AUC", Unit::kPercent},
                                   {"alignment/forget", "A_f", Unit::kPlain},
                                   {"alignment/personal", "A_p", Unit::kPlain},
                                   {"operator/moved_over_removed", "moved / removed", Unit::kPlain},
                                   {"operator/mean_log10_condition", "log10 condition", Unit::kPlain},
                                   {"operator/damping_raised", "blocks with more damping", Unit::kPlain}});
    for (size_t k = 0; k < plan().requests.size(); ++k) {
      for (const double value : values_) {
        for (const uint32_t width : bits_)
          add_recovery(results, plan().name(k, suffix("ours", value, width)), plan().name(k, "before"),
                       masked(k, value));
      }
      const ForgetRequest& request = plan().requests[k];
      out.markdown += fmt::format("## {}\n\n{}\n", request.title, markdown_table(results, columns, rows(k), paper));
      out.table[request.name] = table_as_json(results, columns, rows(k), paper);
      add_panels(results, k, out.chart);
    }
    return out;
  }

 private:
  static std::string suffix(const char* method, double value) { return fmt::format("{}-{:g}", method, value); }
  static std::string suffix(const char* method, double value, uint32_t bits) {
    return fmt::format("{}-{:g}-{}bit", method, value, bits);
  }
  [[nodiscard]] std::string masked(size_t request, double value) const {
    return plan().name(request, knob_.changes_mask ? suffix("mask-only", value) : "mask-only");
  }

  void add_panels(const Results& results, size_t k, Chart& chart) const {
    std::vector<CurvePoint> masks;
    for (const double value : values_) masks.push_back({value, masked(k, value)});
    for (const auto& [key, what] : {std::pair("held_out_accuracy", "forget"), {"personal_accuracy", "personal"}}) {
      Panel panel{.title = fmt::format("{}: {}", plan().requests[k].title, what),
                  .x_title = knob_.axis,
                  .y_title = "accuracy (%)",
                  .log_x = knob_.log_axis};
      for (const uint32_t width : bits_) {
        std::vector<CurvePoint> points;
        for (const double value : values_) points.push_back({value, plan().name(k, suffix("ours", value, width))});
        panel.series.push_back(curve(results, fmt::format("zkapex, {} bits", width), key, points));
      }
      panel.series.push_back(curve(results, "mask only", key, masks));
      panel.series.push_back(level(results, "before", key, plan().name(k, "before"), masks));
      panel.series.push_back(level(results, "exact", key, plan().name(k, "exact"), masks));
      chart.panels.push_back(std::move(panel));
    }
  }

  const Knob& knob_;
  std::vector<double> values_;
  std::vector<uint32_t> bits_;
};

}  // namespace

ExperimentKind ablation_block_experiment() {
  return {"ablation-block", "Sizes of Fisher blocks", [](const json& s) { return Ablation::make(kBlock, s); }};
}

ExperimentKind ablation_damping_experiment() {
  return {"ablation-damping", "Damping from 1e-8 to 10 of a block's mean diagonal",
          [](const json& s) { return Ablation::make(kDamping, s); }};
}

ExperimentKind ablation_sparsity_experiment() {
  return {"ablation-sparsity", "Mask ratios", [](const json& s) { return Ablation::make(kSparsity, s); }};
}

}  // namespace zkapex
