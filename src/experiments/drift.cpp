// How far honest clients go from θ0, by the way they personalize: what the anchor has to leave room for.
#include <algorithm>

#include "experiments/kinds.h"
#include "experiments/vision_experiment.h"
#include "learning/drift.h"

namespace zkapex {

namespace {

using nlohmann::json;
using nlohmann::ordered_json;

struct HonestClient {
  std::string name, title;
  VisionSettings settings;
};

class DriftTable final : public Experiment {
 public:
  DriftTable(VisionPlan plan, std::vector<HonestClient> clients)
      : plan_(std::move(plan)), clients_(std::move(clients)) {}

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    VisionPlan plan;
    std::vector<HonestClient> clients;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    reader.part("clients", [&](const json& list, const std::string& where) -> Status {
      if (!list.is_array() || list.empty()) return error("{} must be a list of clients", where);
      for (const json& one : list) {
        HonestClient client{{}, {}, plan.settings};
        ConfigReader inner(one, where);
        inner.read("name", client.name).read("title", client.title);
        inner.part("personalization", [&](const json& part, const std::string& at) {
          return parse_personalization(part, at, client.settings.personalization);
        });
        ZKAPEX_CHECK(inner.finish());
        clients.push_back(std::move(client));
      }
      return Done{};
    });
    ZKAPEX_CHECK(reader.finish());
    return std::unique_ptr<Experiment>(std::make_unique<DriftTable>(std::move(plan), std::move(clients)));
  }

  [[nodiscard]] std::vector<std::string> variants() const override {
    std::vector<std::string> out;
    for (const HonestClient& client : clients_) out.push_back(client.name);
    return out;
  }

  [[nodiscard]] Result<ordered_json> run(const std::string& variant, uint64_t seed,
                                         const CellWork& work) const override {
    const auto found = std::ranges::find(clients_, variant, &HonestClient::name);
    if (found == clients_.end()) return error("there is no variant '{}'", variant);
    ZKAPEX_TRY(Vision vision, Vision::open(found->settings, plan_.requests.front(), seed, work));
    ZKAPEX_TRY(const Path original, vision.original());
    ZKAPEX_TRY(const Path personal, vision.personal());
    ZKAPEX_TRY(const auto base, vision.load(original));
    ZKAPEX_TRY(const auto model, vision.load(personal));
    ZKAPEX_TRY(ordered_json figures, figures_of(vision, *model, nullptr));
    ZKAPEX_TRY(const Drift drift, drift_from(*base, *model));
    figures["drift"] = drift.as_json();
    return figures;
  }

  [[nodiscard]] ordered_json describe() const override { return plan_.settings.describe(); }

  [[nodiscard]] ExperimentReport report(const Results& results, const json& paper) const override {
    std::vector<TableColumn> columns = {{"personal_accuracy", "personal", Unit::kPercent}};
    const std::vector<TableColumn> drift = drift_columns();
    columns.insert(columns.end(), drift.begin(), drift.end());
    std::vector<TableRow> rows;
    for (const HonestClient& client : clients_) rows.push_back({client.name, client.title});
    ExperimentReport out;
    out.title = "How far honest clients go from the provider's model";
    out.markdown = markdown_table(results, columns, rows, paper);
    out.table = table_as_json(results, columns, rows, paper);
    out.chart.title = "Distance of the matrix that went furthest, over its norm in θ0 (mean and deviation over seeds)";
    Panel panel{.title = "drift", .y_title = "of the norm"};
    Series series{.name = "matrices"};
    for (size_t k = 0; k < rows.size(); ++k) {
      panel.groups.push_back(rows[k].title);
      const auto found = results.spread_of(rows[k].variant, "drift/matrices");
      if (found) series.points.push_back({static_cast<double>(k), found->mean, found->deviation});
    }
    panel.series.push_back(std::move(series));
    out.chart.panels.push_back(std::move(panel));
    return out;
  }

 private:
  VisionPlan plan_;
  std::vector<HonestClient> clients_;
};

}  // namespace

ExperimentKind drift_experiment() {
  return {"drift", "How far honest clients go from θ0: what the anchor leaves room for", DriftTable::make};
}

}  // namespace zkapex
