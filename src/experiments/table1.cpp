// The paper's table 1: ways to unlearn, beside exact retraining, and what a proof of ours costs.
#include <algorithm>

#include "experiments/kinds.h"
#include "experiments/vision_experiment.h"

namespace zkapex {

namespace {

using nlohmann::json;

struct MethodRow {
  const char *name, *title, *method;
};
constexpr MethodRow kMethods[] = {{"before", "before unlearning", "before"},
                                  {"mask-only", "mask only", "mask-only"},
                                  {"ga", "GA", "ga"},
                                  {"neggrad+", "NegGrad+", "neggrad+"},
                                  {"scrub", "SCRUB", "scrub"},
                                  {"ours", "**zkapex**", "proved"},
                                  {"guided", "**zkapex, guided**", "guided-proved"},
                                  {"exact", "*exact*", "exact"}};

const MethodRow* row_of(const std::string& name) {
  const auto* found = std::ranges::find_if(kMethods, [&](const MethodRow& row) { return row.name == name; });
  return found == std::end(kMethods) ? nullptr : found;
}

class Table1 final : public VisionExperiment {
 public:
  using VisionExperiment::VisionExperiment;

  static Result<std::unique_ptr<Experiment>> make(const json& settings) {
    VisionPlan plan;
    ConfigReader reader(settings, "settings");
    read_plan(reader, plan);
    std::vector<std::string> methods;
    reader.read("methods", methods);
    for (const std::string& method : methods)
      reader.require(row_of(method) != nullptr, "methods", fmt::format("has '{}', which is none", method));
    ZKAPEX_CHECK(reader.finish());
    plan.has_exact = std::ranges::count(methods, "exact") > 0;
    for (size_t k = 0; k < plan.requests.size(); ++k) {
      for (const std::string& method : methods) plan.add(k, method, row_of(method)->title, row_of(method)->method);
    }
    return std::unique_ptr<Experiment>(std::make_unique<Table1>(std::move(plan)));
  }

  [[nodiscard]] ExperimentReport report(const Results& cells, const json& paper) const override {
    Results results = cells;
    std::vector<TableColumn> learning = accuracy_columns();
    learning.insert(learning.end(), {{"recovery", "recovered", Unit::kPercent},
                                     {"membership/auc", "MIA AUC", Unit::kPercent},
                                     {"membership/accuracy", "MIA accuracy", Unit::kPercent},
                                     {"alignment/forget", "A_f", Unit::kPlain},
                                     {"alignment/personal", "A_p", Unit::kPlain}});
    const std::vector<TableColumn> proving = {{"proof/prove_seconds", "proving", Unit::kSeconds},
                                              {"proof/prove_memory_bytes", "prover's memory", Unit::kMegabytes},
                                              {"proof/proof_bytes", "proof", Unit::kMegabytes},
                                              {"proof/verify_seconds", "verifying", Unit::kSeconds},
                                              {"proof/register_seconds", "registering, once", Unit::kSeconds},
                                              {"proof/registration_bytes", "registration, once", Unit::kMegabytes}};
    ExperimentReport out;
    out.title = "Table 1: ways to unlearn, and what a proof costs";
    out.chart.title = "Accuracy before and after unlearning (mean and deviation over seeds)";
    for (size_t k = 0; k < plan().requests.size(); ++k) {
      const ForgetRequest& request = plan().requests[k];
      for (const char* ours : {"ours", "guided"})
        add_recovery(results, plan().name(k, ours), plan().name(k, "before"), plan().name(k, "mask-only"));
      const std::vector<TableRow> proved = {{plan().name(k, "ours"), "**zkapex**"},
                                            {plan().name(k, "guided"), "**zkapex, guided**"}};
      out.markdown += fmt::format("## {}\n\n{}\n{}\n", request.title, markdown_table(results, learning, rows(k), paper),
                                  markdown_table(results, proving, proved, paper));
      out.table[request.name] = table_as_json(results, learning, rows(k), paper);
      out.table[request.name + "-proof"] = table_as_json(results, proving, proved, paper);
      out.chart.panels.push_back(accuracy_bars(results, request.title, rows(k)));
    }
    return out;
  }
};

}  // namespace

ExperimentKind table1_experiment() {
  return {"table1", "Mask only, GA, NegGrad+, SCRUB, zkapex and exact retraining, with proofs", Table1::make};
}

}  // namespace zkapex
