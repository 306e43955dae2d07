// The paper's table of language models: a part of one programming language is forgotten, by a model that was adapted to
// another language.
#include <algorithm>

#include "data/membership.h"
#include "experiments/code.h"
#include "experiments/kinds.h"
#include "experiments/measuring.h"
#include "experiments/seeds.h"
#include "learning/apply_to_model.h"
#include "learning/drift.h"
#include "learning/evaluation.h"
#include "learning/mask_tensors.h"

namespace zkapex {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

constexpr int64_t kWindowBatch = 64;

struct PublishedMask {
  Deployment deployment;
  Mask mask;
};

Result<PublishedMask> publish(const Code& code, const OperatorSettings& settings) {
  ZKAPEX_TRY(const Path original, code.original());
  ZKAPEX_TRY(Deployment deployment, mlp_deployment(original / "model.safetensors", "opt", settings));
  ZKAPEX_TRY(const auto model, code.load(original));
  ZKAPEX_TRY(const Samples forget, code.samples("forget"));
  ZKAPEX_TRY(Mask mask,
             cut_mask(*model, deployment, settings.ratio, {.seed = code.seed(kSaliency)},
                      forget.batches(kWindowBatch, settings.saliency_samples, code.seed(kSaliency)), {}, "llm"));
  return PublishedMask{std::move(deployment), std::move(mask)};
}

Status mask_weights(const Code& code, Model& personal) {
  ZKAPEX_TRY(const PublishedMask published, publish(code, code.settings().unlearning));
  ZKAPEX_TRY(const auto covered, covered_by(personal, published.deployment.layout()));
  ZKAPEX_TRY(const auto masks, mask_tensors(published.mask, published.deployment));
  return mask_only(personal, covered, masks);
}

// What there is to say of the step.
Result<ordered_json> compensate(const Code& code, const Path& folder, bool guided, Model& personal) {
  OperatorSettings settings = code.settings().unlearning;
  if (guided) settings = code.settings().rehearsal.applied_to(settings, /*by_class=*/false);
  ZKAPEX_TRY(PublishedMask published, publish(code, settings));
  if (guided) {
    ZKAPEX_TRY(published.mask, code.guided(published.deployment, published.mask));
  }
  ZKAPEX_TRY(const Samples own, code.samples("personal"));
  const Path store = code.work().scratch / "curvature.zka";
  ZKAPEX_CHECK(write_curvature(personal, own.batches(kWindowBatch, settings.fisher_samples, code.seed(kFisher)),
                               published.deployment, settings.damping, store, code.work().work, "curvature"));
  ZKAPEX_TRY(const ObsSummary summary, apply_to_model(published.deployment, published.mask, store,
                                                      folder / "model.safetensors", personal, *code.work().work.pool));
  ordered_json out = {{"rules_met", check_rules(published.deployment, published.mask, summary.groups).ok() ? 1 : 0}};
  const auto followed = followed_tensors(published.deployment.layout(), published.mask, summary.groups);
  const FollowedRange range = range_of(followed);
  if (!followed.empty())
    out["guide"] = {{"least_progress", range.least_progress}, {"most_distance", range.most_distance}};
  return out;
}

Status run_baseline(const Code& code, const std::string& method, Model& personal) {
  const BaselineSettings& b = code.settings().baselines;
  ZKAPEX_TRY(const Samples forget, code.samples("forget"));
  ZKAPEX_TRY(const Samples retained, code.samples(b.retained_data));
  const auto seeded = [&](BaselineOptions options) {
    options.seed = code.seed(kBaseline);
    return options;
  };
  if (method == "ga") return gradient_ascent(personal, forget, seeded(b.ga));
  if (method == "neggrad+") return neggrad_plus(personal, forget, retained, b.neggrad_alpha, seeded(b.neggrad));
  ScrubOptions options = b.scrub;
  options.base = seeded(options.base);
  return scrub(personal, forget, retained, options);
}

Result<ordered_json> figures_of(const Code& code, const Model& model, const Model* exact) {
  ordered_json out;
  std::map<std::string, Evaluation> found;
  const std::string on = code.work().measured_on;
  for (const auto& [name, set] : {std::pair<std::string, std::string>("forget", "forget"),
                                  {"held_out", "forget-" + on},
                                  {"personal", "personal-" + on},
                                  {"all", on}}) {
    ZKAPEX_TRY(const Samples samples, code.samples(set));
    ZKAPEX_TRY(found[name], evaluate(model, samples.batches(kWindowBatch)));
    out[name + "_accuracy"] = found[name].accuracy;
    out[name + "_perplexity"] = found[name].perplexity;
  }
  for (const auto& [name, set] :
       {std::pair<std::string, std::string>("forget", "forget"), {"personal", "personal-" + on}}) {
    if (!exact) continue;
    ZKAPEX_TRY(const Samples samples, code.samples(set));
    ZKAPEX_TRY(out["alignment"][name], alignment(model, *exact, samples.batches(kWindowBatch)));
  }
  ZKAPEX_TRY(const MembershipResult m,
             membership_inference(found["forget"].losses, found["held_out"].losses, {.seed = code.seed(kMembership)}));
  out["membership"] = {{"auc", m.auc}, {"auc_low", m.auc_low}, {"auc_high", m.auc_high}, {"accuracy", m.accuracy}};
  return out;
}

const std::vector<TableRow>& all_rows() {
  static const std::vector<TableRow> rows = {{"before", "before"},
                                             {"mask-only", "mask only"},
                                             {"ga", "GA"},
                                             {"neggrad+", "NegGrad+"},
                                             {"scrub", "SCRUB"},
                                             {"ours", "**zkapex**"},
                                             {"guided", "**zkapex, guided**"},
                                             {"exact", "*exact*"}};
  return rows;
}

class Llm final : public Experiment {
 public:
  Llm(CodeSettings settings, std::vector<TableRow> rows) : settings_(std::move(settings)), rows_(std::move(rows)) {}

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    CodeSettings parsed;
    std::vector<std::string> methods;
    ConfigReader reader(settings, "settings");
    reader.part("code", [&](const json& part, const std::string& where) -> Status {
      ZKAPEX_TRY(parsed, CodeSettings::parse(part, where));
      return Done{};
    });
    reader.read("methods", methods);
    std::vector<TableRow> rows;
    for (const std::string& method : methods) {
      const auto known = std::ranges::find(all_rows(), method, &TableRow::variant);
      reader.require(known != all_rows().end(), "methods", fmt::format("has '{}', which is none", method));
      if (known != all_rows().end()) rows.push_back(*known);
    }
    ZKAPEX_CHECK(reader.finish());
    return std::unique_ptr<Experiment>(std::make_unique<Llm>(std::move(parsed), std::move(rows)));
  }

  [[nodiscard]] std::vector<std::string> variants() const override {
    std::vector<std::string> out;
    for (const TableRow& row : rows_) out.push_back(row.variant);
    return out;
  }

  [[nodiscard]] Result<ordered_json> run(const std::string& variant, uint64_t seed,
                                         const CellWork& work) const override {
    ZKAPEX_TRY(const Code code, Code::open(settings_, seed, work));
    ZKAPEX_TRY(const Path folder, variant == "exact" ? code.exact() : code.personal());
    ZKAPEX_TRY(const auto model, code.load(folder));
    ordered_json step;
    if (variant == "mask-only") {
      ZKAPEX_CHECK(mask_weights(code, *model));
    } else if (variant == "ours" || variant == "guided") {
      ZKAPEX_TRY(step, compensate(code, folder, variant == "guided", *model));
    } else if (variant != "before" && variant != "exact") {
      ZKAPEX_CHECK(run_baseline(code, variant, *model));
    }
    std::unique_ptr<Model> exact;
    if (std::ranges::count(rows_, "exact", &TableRow::variant) > 0) {
      ZKAPEX_TRY(const Path to_compare, code.exact());
      ZKAPEX_TRY(exact, code.load(to_compare));
    }
    ZKAPEX_TRY(ordered_json figures, figures_of(code, *model, exact.get()));
    if (!step.is_null()) figures["operator"] = std::move(step);
    if (variant == "before") {
      ZKAPEX_TRY(const Path original, code.original());
      ZKAPEX_TRY(const auto base, code.load(original));
      ZKAPEX_TRY(const Drift drift, drift_from(*base, *model));
      figures["drift"] = drift.as_json();
    }
    return figures;
  }

  [[nodiscard]] ordered_json describe() const override { return settings_.describe(); }

  [[nodiscard]] ExperimentReport report(const Results& results, const json& paper) const override {
    const std::vector<TableColumn> columns = {{"forget_accuracy", "forget set D_f", Unit::kPercent},
                                              {"forget_perplexity", "its perplexity", Unit::kPlain},
                                              {"held_out_accuracy", "held-out, like D_f", Unit::kPercent},
                                              {"held_out_perplexity", "its perplexity", Unit::kPlain},
                                              {"personal_accuracy", "personal", Unit::kPercent},
                                              {"personal_perplexity", "its perplexity", Unit::kPlain},
                                              {"all_accuracy", "all languages, held out", Unit::kPercent},
                                              {"membership/auc", "MIA AUC", Unit::kPercent},
                                              {"alignment/forget", "A_f", Unit::kPlain},
                                              {"alignment/personal", "A_p", Unit::kPlain},
                                              {"operator/rules_met", "rules met", Unit::kPercent}};
    ExperimentReport out;
    out.title = "Language model: a part of one language is forgotten";
    out.markdown = markdown_table(results, columns, rows_, paper);
    out.table = table_as_json(results, columns, rows_, paper);
    const std::vector<TableRow> honest = {{"before", "θ_p, from θ0"}};
    out.markdown += fmt::format("\n## How far the client went\n\n{}",
                                markdown_table(results, drift_columns(), honest, json::object()));
    out.chart.title = "Next-token accuracy and perplexity (mean and deviation over seeds)";
    out.chart.panels = {bars(results, "top-1 accuracy (%)", "_accuracy", 100),
                        bars(results, "perplexity", "_perplexity", 1)};
    return out;
  }

 private:
  [[nodiscard]] Panel bars(const Results& results, const std::string& title, const std::string& figure,
                           double factor) const {
    Panel out{.title = title, .y_title = title};
    for (const TableRow& row : rows_) {
      std::string name = row.title;
      std::erase(name, '*');
      out.groups.push_back(name);
    }
    for (const auto& [set, name] :
         {std::pair("forget", "forget set D_f"), {"held_out", "held-out, like D_f"}, {"personal", "personal"}}) {
      Series series{.name = name};
      for (size_t k = 0; k < rows_.size(); ++k) {
        const auto found = results.spread_of(rows_[k].variant, set + figure);
        if (found) series.points.push_back({static_cast<double>(k), factor * found->mean, factor * found->deviation});
      }
      out.series.push_back(std::move(series));
    }
    return out;
  }

  CodeSettings settings_;
  std::vector<TableRow> rows_;
};

}  // namespace

ExperimentKind llm_experiment() {
  return {"llm", "A language model of code: forgetting a part of one language, personal in another", Llm::make};
}

}  // namespace zkapex
