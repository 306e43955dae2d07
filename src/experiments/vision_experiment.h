// Experiments with images differ in which variants they have and what they make of the figures; the rest is here.
#pragma once

#include "experiments/unlearn_once.h"

namespace zkapex {

// One row of one table: what is forgotten, how, and with which settings of the operator.
struct VisionVariant {
  std::string name, title;
  size_t request = 0;  // number of it among the plan's
  // before, mask-only, ga, neggrad+, scrub, exact; ours and guided, or with a proof, proved and guided-proved
  std::string method = "ours";
  OperatorSettings unlearning;
  MaskRecipe mask = {};
  GuideChange guide = {};  // of guided ones

  [[nodiscard]] bool guided() const { return method.starts_with("guided"); }
};

struct VisionPlan {
  VisionSettings settings;
  std::vector<ForgetRequest> requests;
  std::vector<VisionVariant> variants;
  bool has_exact = true;  // to measure how far from it the variants are

  // The operator's settings for a request.
  [[nodiscard]] OperatorSettings unlearning(size_t request) const;
  // Adds a variant named "REQUEST-SUFFIX", with these settings.
  VisionVariant& add(size_t request, const std::string& suffix, const std::string& title, const std::string& method);
  // The name that `add` gives.
  [[nodiscard]] std::string name(size_t request, const std::string& suffix) const {
    return requests[request].name + "-" + suffix;
  }
};

// "vision" and "requests" of an experiment's settings.
void read_plan(ConfigReader& reader, VisionPlan& plan);

// Adds before, mask-only, ours, guided and exact of a request: what most tables compare.
void add_comparison(VisionPlan& plan, size_t request);

class VisionExperiment : public Experiment {
 public:
  explicit VisionExperiment(VisionPlan plan) : plan_(std::move(plan)) {}

  [[nodiscard]] std::vector<std::string> variants() const override;
  [[nodiscard]] Result<nlohmann::ordered_json> run(const std::string& variant, uint64_t seed,
                                                   const CellWork& work) const override;
  [[nodiscard]] nlohmann::ordered_json describe() const override { return plan_.settings.describe(); }

 protected:
  [[nodiscard]] const VisionPlan& plan() const { return plan_; }
  // The variants of a request as rows.
  [[nodiscard]] std::vector<TableRow> rows(size_t request) const;
  // The table and bars of `add_comparison`, with recovery, to the report.
  void add_comparison_table(Results& results, size_t request, const nlohmann::json& paper, ExperimentReport& out) const;
  // More figures of a variant whose model is there; `published` where it has a mask.
  [[nodiscard]] virtual Status add_figures(Vision& vision, const VisionVariant& variant, const Model& model,
                                           const Published* published, nlohmann::ordered_json& figures) const;

 private:
  VisionPlan plan_;
};

// Accuracy columns that all tables with images have.
[[nodiscard]] std::vector<TableColumn> accuracy_columns();

// The columns that add_differences fills.
[[nodiscard]] std::vector<TableColumn> difference_columns();

// Bars of the held-out and the personal accuracy, one group per row.
[[nodiscard]] Panel accuracy_bars(const Results& results, const std::string& title, const std::vector<TableRow>& rows);

// One point of a curve: a variant at x.
struct CurvePoint {
  double x;
  std::string variant;
};
[[nodiscard]] Series curve(const Results& results, const std::string& name, const std::string& key,
                           const std::vector<CurvePoint>& points, Unit unit = Unit::kPercent);
// A level line over the same x: what one variant has, whatever x is.
[[nodiscard]] Series level(const Results& results, const std::string& name, const std::string& key,
                           const std::string& variant, const std::vector<CurvePoint>& points,
                           Unit unit = Unit::kPercent);

}  // namespace zkapex
