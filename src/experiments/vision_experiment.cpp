#include "experiments/vision_experiment.h"

#include <algorithm>

namespace zkapex {

using nlohmann::json;
using nlohmann::ordered_json;

OperatorSettings VisionPlan::unlearning(size_t request) const {
  OperatorSettings out = settings.unlearning;
  if (requests[request].damping) out.damping.value = *requests[request].damping;
  return out;
}

VisionVariant& VisionPlan::add(size_t request, const std::string& suffix, const std::string& title,
                               const std::string& method) {
  VisionVariant& out = variants.emplace_back();
  out.name = name(request, suffix);
  out.title = title;
  out.request = request;
  out.method = method;
  out.unlearning = unlearning(request);
  if (out.guided()) out.unlearning = settings.rehearsal.applied_to(out.unlearning, requests[request].by_class());
  return out;
}

void read_plan(ConfigReader& reader, VisionPlan& plan) {
  reader.part("vision", [&](const json& part, const std::string& where) -> Status {
    ZKAPEX_TRY(plan.settings, VisionSettings::parse(part, where));
    return Done{};
  });
  reader.part("requests", [&](const json& part, const std::string& where) -> Status {
    ZKAPEX_TRY(plan.requests, parse_requests(part, where));
    return Done{};
  });
}

void add_comparison(VisionPlan& plan, size_t request) {
  plan.add(request, "before", "before unlearning", "before");
  plan.add(request, "mask-only", "mask only", "mask-only");
  plan.add(request, "ours", "**zkapex**", "ours");
  plan.add(request, "guided", "**zkapex, guided**", "guided");
  plan.add(request, "exact", "*exact*", "exact");
}

std::vector<std::string> VisionExperiment::variants() const {
  std::vector<std::string> out;
  for (const VisionVariant& variant : plan_.variants) out.push_back(variant.name);
  return out;
}

Result<ordered_json> VisionExperiment::run(const std::string& name, uint64_t seed, const CellWork& work) const {
  const auto found = std::ranges::find(plan_.variants, name, &VisionVariant::name);
  if (found == plan_.variants.end()) return error("there is no variant '{}'", name);
  const VisionVariant& variant = *found;
  ZKAPEX_TRY(Vision vision, Vision::open(plan_.settings, plan_.requests[variant.request], seed, work));
  std::optional<Published> published;
  if (variant.guided() || variant.method == "mask-only" || variant.method == "ours" || variant.method == "proved") {
    ZKAPEX_TRY(published, publish(vision, variant.unlearning, variant.mask));
  }
  if (variant.guided()) {
    ZKAPEX_TRY(published->mask, vision.guided(published->deployment, published->mask, variant.guide));
  }
  std::unique_ptr<Model> model;
  ordered_json details = ordered_json::object();
  if (variant.method == "before" || variant.method == "exact") {
    ZKAPEX_TRY(const Path folder, variant.method == "exact" ? vision.exact() : vision.personal());
    ZKAPEX_TRY(model, vision.load(folder));
  } else if (variant.method == "mask-only") {
    ZKAPEX_TRY(model, masked_model(vision, *published));
  } else if (variant.method == "ours" || variant.method == "guided") {
    ZKAPEX_TRY(const Path personal, vision.personal());
    ZKAPEX_TRY(Compensated compensated, compensated_model(vision, personal, *published, variant.unlearning));
    details["operator"] = compensated.describe(*published);
    model = std::move(compensated.model);
  } else if (variant.method == "proved" || variant.method == "guided-proved") {
    ZKAPEX_TRY(Proved proved, proved_model(vision, *published, variant.unlearning));
    details["proof"] = std::move(proved.figures);
    model = std::move(proved.model);
  } else {
    ZKAPEX_TRY(model, baseline_model(vision, variant.method));
  }
  std::unique_ptr<Model> exact;
  if (plan_.has_exact) {
    ZKAPEX_TRY(const Path folder, vision.exact());
    ZKAPEX_TRY(exact, vision.load(folder));
  }
  ZKAPEX_TRY(ordered_json figures, figures_of(vision, *model, exact.get()));
  figures.update(details);
  ZKAPEX_CHECK(add_figures(vision, variant, *model, published ? &*published : nullptr, figures));
  return figures;
}

Status VisionExperiment::add_figures(Vision& /*vision*/, const VisionVariant& /*variant*/, const Model& /*model*/,
                                     const Published* /*published*/, ordered_json& /*figures*/) const {
  return Done{};
}

std::vector<TableRow> VisionExperiment::rows(size_t request) const {
  std::vector<TableRow> out;
  for (const VisionVariant& variant : plan_.variants) {
    if (variant.request == request) out.push_back({variant.name, variant.title});
  }
  return out;
}

void VisionExperiment::add_comparison_table(Results& results, size_t request, const json& paper,
                                            ExperimentReport& out) const {
  const std::vector<TableRow> compared = {{plan_.name(request, "before"), "before unlearning"},
                                          {plan_.name(request, "mask-only"), "mask only"},
                                          {plan_.name(request, "ours"), "**zkapex**"},
                                          {plan_.name(request, "guided"), "**zkapex, guided**"},
                                          {plan_.name(request, "exact"), "*exact*"}};
  for (const char* ours : {"ours", "guided"})
    add_recovery(results, plan_.name(request, ours), plan_.name(request, "before"), plan_.name(request, "mask-only"));
  std::vector<TableColumn> columns = accuracy_columns();
  columns.insert(columns.end(), {{"recovery", "recovered", Unit::kPercent},
                                 {"membership/auc", "MIA AUC", Unit::kPercent},
                                 {"alignment/forget", "A_f", Unit::kPlain},
                                 {"alignment/personal", "A_p", Unit::kPlain}});
  const ForgetRequest& asked = plan_.requests[request];
  out.markdown += fmt::format("## {}\n\n{}\n", asked.title, markdown_table(results, columns, compared, paper));
  out.table[asked.name] = table_as_json(results, columns, compared, paper);
  out.chart.panels.push_back(accuracy_bars(results, asked.title, compared));
}

std::vector<TableColumn> difference_columns() {
  return {{"forget_difference", "Δ forget", Unit::kPercent},
          {"personal_difference", "Δ personal", Unit::kPercent},
          {"forget_gap", "forget, points from exact", Unit::kPercent},
          {"personal_gap", "personal, points from exact", Unit::kPercent}};
}

std::vector<TableColumn> accuracy_columns() {
  return {{"forget_accuracy", "forget set D_f", Unit::kPercent},
          {"held_out_accuracy", "held-out, like D_f", Unit::kPercent},
          {"retained_accuracy", "held-out, others", Unit::kPercent},
          {"personal_accuracy", "personal", Unit::kPercent}};
}

Panel accuracy_bars(const Results& results, const std::string& title, const std::vector<TableRow>& rows) {
  Panel panel{.title = title, .y_title = "accuracy (%)"};
  for (const auto& [key, name] : {std::pair("forget_accuracy", "forget set D_f"),
                                  {"held_out_accuracy", "held-out photos like D_f"},
                                  {"personal_accuracy", "personal sketches"}}) {
    Series series{.name = name};
    for (size_t k = 0; k < rows.size(); ++k) {
      const auto found = results.spread_of(rows[k].variant, key);
      if (found) series.points.push_back({static_cast<double>(k), 100 * found->mean, 100 * found->deviation});
    }
    panel.series.push_back(std::move(series));
  }
  for (const TableRow& row : rows) {
    std::string name = row.title.substr(0, row.title.find(" unlearning"));
    std::erase(name, '*');
    panel.groups.push_back(std::move(name));
  }
  return panel;
}

namespace {
double scale_of(Unit unit) { return unit == Unit::kPercent ? 100 : 1; }
}  // namespace

Series curve(const Results& results, const std::string& name, const std::string& key,
             const std::vector<CurvePoint>& points, Unit unit) {
  Series out{.name = name};
  for (const CurvePoint& point : points) {
    const auto found = results.spread_of(point.variant, key);
    if (found) out.points.push_back({point.x, scale_of(unit) * found->mean, scale_of(unit) * found->deviation});
  }
  return out;
}

Series level(const Results& results, const std::string& name, const std::string& key, const std::string& variant,
             const std::vector<CurvePoint>& points, Unit unit) {
  std::vector<CurvePoint> same;
  for (const CurvePoint& point : points) same.push_back({point.x, variant});
  Series out = curve(results, name, key, same, unit);
  for (ChartPoint& point : out.points) point.deviation = 0;
  out.dashed = true;
  return out;
}

}  // namespace zkapex
