// Requests with a guide, beyond the paper: how they compare, what they depend on, how soon a class is learned again,
// and what the request itself tells of the forgotten samples.
#include <algorithm>

#include "data/membership.h"
#include "experiments/kinds.h"
#include "experiments/seeds.h"
#include "experiments/vision_experiment.h"
#include "learning/baselines.h"
#include "learning/evaluation.h"
#include "learning/mask_tensors.h"
#include "learning/torch.h"
#include "unlearning/apply.h"

namespace zkapex {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int64_t kPhotosAtOnce = 256;

struct StudySettings {
  std::vector<std::string> sensitivity;  // requests whose guide is changed
  std::vector<double> scales, pull_factors, noises;
  std::vector<int64_t> relearning_steps;
  TrainingOptions relearning;
};

Status parse_study(const json& part, const std::string& where, StudySettings& out) {
  ConfigReader reader(part, where);
  reader.read("sensitivity", out.sensitivity).read("scales", out.scales).read("pull_factors", out.pull_factors);
  reader.read("noises", out.noises).read("relearning_steps", out.relearning_steps);
  reader.read("relearning_batch", out.relearning.batch).read("relearning_rate", out.relearning.rate);
  reader.require(!out.relearning_steps.empty() && std::ranges::is_sorted(out.relearning_steps), "relearning_steps",
                 "must increase");
  out.relearning.schedule = Schedule::kConstant;
  const Status good = out.relearning.check();
  reader.require(good.ok(), "relearning_rate", good.ok() ? "" : good.error().message);
  return reader.finish();
}

// The accuracy on held-out photos like D_f after so many steps of fine-tuning on D_f.
Result<ordered_json> relearn(Vision& vision, const Model& model, const StudySettings& study) {
  ZKAPEX_TRY(const MeasuredSets sets, vision.measured_sets());
  const std::unique_ptr<Model> own = clone(model);
  TrainingOptions how = study.relearning;
  how.seed = vision.seed(kRelearning);
  how.stop_after = study.relearning_steps.back();
  how.epochs = 1 + how.stop_after * how.batch / sets.members.size();
  ordered_json out;
  ZKAPEX_CHECK(train(*own, sets.members, Method::kFull, how, [&](const TrainingStep& step) -> Status {
    if (std::ranges::find(study.relearning_steps, step.step) == study.relearning_steps.end()) return Done{};
    ZKAPEX_TRY(const Evaluation now, evaluate(*own, sets.held_out.batches(kPhotosAtOnce)));
    out[std::to_string(step.step)] = now.accuracy;
    return Done{};
  }));
  return out;
}

// θ0 with what the request says done to it: masked weights zero, the others where the guide draws them.
Result<std::unique_ptr<Model>> displaced(Vision& vision, const Published& published) {
  ZKAPEX_TRY(const Path original, vision.original());
  ZKAPEX_TRY(std::unique_ptr<Model> out, vision.load(original));
  ZKAPEX_TRY(const auto covered, covered_by(*out, published.deployment.layout()));
  ZKAPEX_TRY(const auto masks, mask_tensors(published.mask, published.deployment));
  ZKAPEX_TRY(const auto guide, guide_tensors(published.mask, published.deployment));
  ZKAPEX_CHECK(mask_only(*out, covered, masks));
  return catch_torch([&]() -> Result<std::unique_ptr<Model>> {
    const at::NoGradGuard no_grad;
    for (size_t k = 0; k < covered.size(); ++k) {
      const Tensor& weight = *out->parameters().find(covered[k]);
      weight.add_(guide[k].to(weight.device()));
    }
    return std::move(out);
  });
}

// Membership of D_f told from public things alone: by the loss of θ0, and by how much the request raises it.
Result<ordered_json> leak(Vision& vision, const Published& published) {
  ZKAPEX_TRY(const MeasuredSets sets, vision.measured_sets());
  ZKAPEX_TRY(const Path folder, vision.original());
  ZKAPEX_TRY(const auto original, vision.load(folder));
  ZKAPEX_TRY(const auto moved, displaced(vision, published));
  std::array<std::vector<double>, 2> losses, rises;  // of members, of others
  const std::array<BatchSource, 2> sides = {sets.member_batches(), sets.held_out.batches(kPhotosAtOnce)};
  for (size_t side = 0; side < 2; ++side) {
    ZKAPEX_TRY(const Evaluation before, evaluate(*original, sides[side]));
    ZKAPEX_TRY(const Evaluation after, evaluate(*moved, sides[side]));
    losses[side] = before.losses;
    // The test takes low losses for members'; the request raises theirs.
    for (size_t k = 0; k < before.losses.size(); ++k) rises[side].push_back(before.losses[k] - after.losses[k]);
  }
  const MembershipOptions how{.seed = vision.seed(kMembership)};
  ZKAPEX_TRY(const MembershipResult from_model, membership_inference(losses[0], losses[1], how));
  ZKAPEX_TRY(const MembershipResult from_request, membership_inference(rises[0], rises[1], how));
  return ordered_json{{"from_model", from_model.auc}, {"from_request", from_request.auc}};
}

class GuidedStudy final : public VisionExperiment {
 public:
  GuidedStudy(VisionPlan plan, StudySettings study) : VisionExperiment(std::move(plan)), study_(std::move(study)) {}

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    VisionPlan plan;
    StudySettings study;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    reader.part("study", [&](const json& part, const std::string& where) { return parse_study(part, where, study); });
    ZKAPEX_CHECK(reader.finish());
    for (size_t k = 0; k < plan.requests.size(); ++k) {
      add_comparison(plan, k);
      if (std::ranges::count(study.sensitivity, plan.requests[k].name) > 0) add_changes(plan, k, study);
    }
    return std::unique_ptr<Experiment>(std::make_unique<GuidedStudy>(std::move(plan), std::move(study)));
  }

  [[nodiscard]] ExperimentReport report(const Results& cells, const json& paper) const override {
    Results results = cells;
    ExperimentReport out;
    out.title = "Requests that forget: a guide beside the mask";
    out.chart.title = "Accuracy with and without a guide (mean and deviation over seeds)";
    for (size_t k = 0; k < plan().requests.size(); ++k) {
      add_comparison_table(results, k, paper, out);
      if (plan().requests[k].by_class()) add_relearning(results, k, out);
      add_changes_table(results, k, out);
    }
    return out;
  }

 protected:
  Status add_figures(Vision& vision, const VisionVariant& variant, const Model& model, const Published* published,
                     ordered_json& figures) const override {
    if (variant.guided()) {
      ZKAPEX_TRY(figures["leak"], leak(vision, *published));
    }
    if (plan().requests[variant.request].by_class() && is_relearned(variant)) {
      ZKAPEX_TRY(figures["relearned"], relearn(vision, model, study_));
    }
    return Done{};
  }

 private:
  [[nodiscard]] bool is_relearned(const VisionVariant& variant) const {
    for (const char* suffix : {"ours", "guided", "exact"}) {
      if (variant.name == plan().name(variant.request, suffix)) return true;
    }
    return false;
  }

  static void add_changes(VisionPlan& plan, size_t k, const StudySettings& study) {
    for (const double scale : study.scales)
      plan.add(k, fmt::format("guided-scale={:g}", scale), fmt::format("Δ × {:g}", scale), "guided").guide.scale =
          scale;
    for (const double factor : study.pull_factors)
      plan.add(k, fmt::format("guided-pull={:g}", factor), fmt::format("t × {:g}", factor), "guided")
          .guide.pull_factor = factor;
    for (const double noise : study.noises)
      plan.add(k, fmt::format("guided-noise={:g}", noise), fmt::format("noise of {:g} on Δ", noise), "guided")
          .guide.noise = noise;
  }

  void add_changes_table(const Results& results, size_t k, ExperimentReport& out) const {
    std::vector<TableRow> rows;
    for (const VisionVariant& variant : plan().variants) {
      if (variant.request == k && variant.guided()) rows.push_back({variant.name, variant.title});
    }
    std::vector<TableColumn> columns = accuracy_columns();
    columns.insert(columns.end(), {{"operator/guide/least_progress", "least progress", Unit::kPlain},
                                   {"operator/guide/most_distance", "most distance", Unit::kPlain},
                                   {"leak/from_model", "MIA from θ0", Unit::kPercent},
                                   {"leak/from_request", "MIA from θ0, Ψ", Unit::kPercent}});
    out.markdown += fmt::format("### {}: the guide\n\n{}\n", plan().requests[k].title,
                                markdown_table(results, columns, rows, json::object()));
    out.table[plan().requests[k].name + "-guide"] = table_as_json(results, columns, rows, json::object());
  }

  void add_relearning(const Results& results, size_t k, ExperimentReport& out) const {
    std::vector<TableColumn> columns;
    for (const int64_t step : study_.relearning_steps)
      columns.push_back({fmt::format("relearned/{}", step), fmt::format("{} steps", step), Unit::kPercent});
    std::vector<TableRow> rows;
    for (const VisionVariant& variant : plan().variants) {
      if (variant.request == k && is_relearned(variant)) rows.push_back({variant.name, variant.title});
    }
    out.markdown += fmt::format("### {}: held-out photos like D_f after fine-tuning on D_f\n\n{}\n",
                                plan().requests[k].title, markdown_table(results, columns, rows, json::object()));
    out.table[plan().requests[k].name + "-relearning"] = table_as_json(results, columns, rows, json::object());
  }

  StudySettings study_;
};

}  // namespace

ExperimentKind guided_experiment() {
  return {"guided", "Requests with a guide: classes, samples, overlap; sensitivity, relearning, what Ψ tells",
          GuidedStudy::make};
}

}  // namespace zkapex
