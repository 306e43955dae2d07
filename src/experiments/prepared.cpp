// The attack that succeeds: clients who prepare their model, inside the anchor, to survive a request.
#include <algorithm>

#include "experiments/kinds.h"
#include "experiments/prepared_client.h"
#include "experiments/vision_experiment.h"
#include "learning/drift.h"
#include "learning/model_files.h"

namespace zkapex {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

class Prepared final : public VisionExperiment {
 public:
  // A client that prepares for the request itself, or for one that it rehearsed on its own.
  struct Attack {
    std::string name, title;
    size_t request;
    Preparation how;
    bool known;
  };

  Prepared(VisionPlan plan, std::vector<Attack> attacks)
      : VisionExperiment(std::move(plan)), attacks_(std::move(attacks)) {}

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    VisionPlan plan;
    Preparation how;
    std::vector<double> ratios;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    reader.part("preparation", [&](const json& part, const std::string& where) {
      ConfigReader inner(part, where);
      inner.read("ratios", ratios).read("epochs", how.training.epochs).read("batch", how.training.batch);
      inner.read("rate", how.training.rate);
      inner.require(!ratios.empty() && std::ranges::all_of(ratios, [](double r) { return r > 0; }), "ratios",
                    "must be positive");
      const Status good = how.training.check();
      inner.require(good.ok(), "rate", good.ok() ? "" : good.error().message);
      return inner.finish();
    });
    ZKAPEX_CHECK(reader.finish());
    std::vector<Attack> attacks;
    for (size_t k = 0; k < plan.requests.size(); ++k) {
      add_comparison(plan, k);
      for (const double ratio : ratios) {
        how.ratio = ratio;
        for (const bool known : {false, true}) {
          attacks.push_back(
              {plan.name(k, fmt::format("prepared={:g}{}", ratio, known ? "-known" : "")),
               fmt::format("prepared within {:g}, for {}", ratio, known ? "this very request" : "a request of its own"),
               k, how, known});
        }
      }
    }
    return std::unique_ptr<Experiment>(std::make_unique<Prepared>(std::move(plan), std::move(attacks)));
  }

  [[nodiscard]] std::vector<std::string> variants() const override {
    std::vector<std::string> out = VisionExperiment::variants();
    for (const Attack& attack : attacks_) out.push_back(attack.name);
    return out;
  }

  [[nodiscard]] Result<ordered_json> run(const std::string& variant, uint64_t seed,
                                         const CellWork& work) const override {
    const auto found = std::ranges::find(attacks_, variant, &Attack::name);
    if (found == attacks_.end()) return VisionExperiment::run(variant, seed, work);
    ZKAPEX_TRY(Vision vision, Vision::open(plan().settings, plan().requests[found->request], seed, work));
    return attacked(vision, *found);
  }

  [[nodiscard]] ExperimentReport report(const Results& cells, const json& paper) const override {
    Results results = cells;
    ExperimentReport out;
    out.title = "What the rules cannot see: a model prepared to survive a request";
    out.chart.title = "Accuracy of honest clients (mean and deviation over seeds)";
    for (size_t k = 0; k < plan().requests.size(); ++k) {
      add_comparison_table(results, k, paper, out);
      std::vector<TableRow> rows;
      for (const Attack& attack : attacks_) {
        if (attack.request == k) rows.push_back({attack.name, attack.title});
      }
      std::vector<TableColumn> columns = accuracy_columns();
      columns.insert(columns.end(), {{"registered/held_out_accuracy", "before, like D_f", Unit::kPercent},
                                     {"registered/personal_accuracy", "before, personal", Unit::kPercent},
                                     {"registered/drift", "drift of a matrix", Unit::kPlain},
                                     {"rules_met", "rules met", Unit::kPercent}});
      const std::string& title = plan().requests[k].title;
      out.markdown += fmt::format("### {}: clients that prepare\n\n{}\n", title,
                                  markdown_table(results, columns, rows, json::object()));
      out.table[plan().requests[k].name + "-prepared"] = table_as_json(results, columns, rows, json::object());
    }
    return out;
  }

 private:
  [[nodiscard]] Result<ordered_json> attacked(Vision& vision, const Attack& attack) const {
    const bool by_class = plan().requests[attack.request].by_class();
    const OperatorSettings settings = plan().settings.rehearsal.applied_to(plan().unlearning(attack.request), by_class);
    ZKAPEX_TRY(Published published, publish(vision, settings));
    Published expected = published;
    ZKAPEX_TRY(published.mask, vision.guided(published.deployment, published.mask, {}));
    ZKAPEX_TRY(expected.mask,
               vision.guided(expected.deployment, expected.mask, {}, attack.known ? kRehearsal : kOwnRehearsal));
    ZKAPEX_TRY(const auto registered, prepared_model(vision, expected, attack.how));
    const Path folder = vision.work().scratch / "prepared";
    ZKAPEX_CHECK(save_model(*registered, folder));
    ZKAPEX_TRY(const Compensated done, compensated_model(vision, folder, published, settings));
    ZKAPEX_TRY(ordered_json figures, figures_of(vision, *done.model, nullptr));
    ZKAPEX_TRY(const ordered_json before, figures_of(vision, *registered, nullptr));
    ZKAPEX_TRY(const Path original, vision.original());
    ZKAPEX_TRY(const auto base, vision.load(original));
    ZKAPEX_TRY(const Drift drift, drift_from(*base, *registered));
    figures["registered"] = {{"held_out_accuracy", before["held_out_accuracy"]},
                             {"personal_accuracy", before["personal_accuracy"]},
                             {"drift", std::max(drift.matrices, drift.head)}};
    figures["operator"] = done.describe(published);
    figures["rules_met"] = figures["operator"]["rules_hold"].get<bool>() ? 1 : 0;
    return figures;
  }

  std::vector<Attack> attacks_;
};

}  // namespace

ExperimentKind prepared_experiment() {
  return {"prepared", "An attack that succeeds: models prepared inside the anchor to survive a request",
          Prepared::make};
}

}  // namespace zkapex
