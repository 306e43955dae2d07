// zkapex experiment: the paper's tables and figures, cell by cell.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "cli/learning/common.h"
#include "cli/learning/names.h"
#include "cli/work.h"
#include "learning/runtime.h"
#include "tables/runner.h"

namespace zkapex::cli {

namespace {

struct ExperimentOptions {
  CommonFlags common;
  std::string name;
  RunOptions run;
};

Result<const ExperimentKind*> experiment_named(const std::string& name) {
  std::string names;
  for (const ExperimentKind& kind : experiment_kinds()) {
    if (kind.name == name) return &kind;
    names += fmt::format("{}{}", names.empty() ? "" : ", ", kind.name);
  }
  return error("there is no experiment '{}'; there are {}", name, names);
}

Result<Outcome> run_command(ExperimentOptions options) {
  ZKAPEX_TRY(const ExperimentKind* kind, experiment_named(options.name));
  if (options.run.only_seed > options.run.seeds) return error("--only-seed is one of the --seeds");
  if (options.run.measured_on != "test" && options.run.measured_on != "validation")
    return error("--on is test or validation");
  // A quick run goes where it cannot be taken for a result.
  if (options.run.out.empty()) options.run.out = options.run.quick ? "results/tmp" : "results";
  std::error_code code;
  options.run.program = std::filesystem::read_symlink("/proc/self/exe", code);
  options.run.force = options.common.force;
  Work work(options.common);
  start_libtorch(options.common.threads);
  ZKAPEX_TRY(const Placement placement, placement_on(options.run.device));
  options.run.versions = runtime_versions(placement);
  const auto tell = [&](const std::string& line) {
    if (options.common.json || options.common.quiet) return;
    fmt::print("{}\n", line);
    std::fflush(stdout);  // between lines of progress on the other stream
  };
  ZKAPEX_TRY(const RunOutcome done, run_experiment(*kind, options.run, work.settings(), tell));
  if (options.common.json) {
    fmt::print("{}\n", nlohmann::ordered_json{{"experiment", kind->name},
                                              {"cells", done.cells},
                                              {"skipped", done.skipped},
                                              {"missing", done.missing},
                                              {"markdown", done.markdown.string()},
                                              {"json", done.json.string()},
                                              {"svg", done.svg.string()}}
                           .dump(2));
    return Outcome::kDone;
  }
  if (done.missing > 0) {
    fmt::print("{} of {} cells are missing: there is no report yet\n", done.missing, done.cells);
    return Outcome::kDone;
  }
  fmt::print("\n{}\n{}, {} and {} were written\n", done.text, done.markdown.string(), done.json.string(),
             done.svg.string());
  return Outcome::kDone;
}

std::string footer() {
  std::string out = "Experiments:\n";
  for (const ExperimentKind& kind : experiment_kinds()) out += fmt::format("  {:<18} {}\n", kind.name, kind.about);
  return out +
         "\nEach cell (a seed of a variant) is a file under OUT/cells; a run that is started again computes what is\n"
         "missing, and so may several processes at once. OUT/NAME.md, .json and .svg are made of all cells in the "
         "end.\n"
         "Trained models are kept in OUT/.cache, for all experiments; remove it when you are done.\n\n"
         "Examples:\n"
         "  zkapex experiment table1                      three seeds\n"
         "  zkapex experiment table1 --quick              seconds, too small to mean anything: into results/tmp\n"
         "  zkapex experiment ablation-damping --seeds 5 --device cuda -o results\n"
         "  for s in 1 2 3; do zkapex experiment table1 --only-seed $s --threads 1 & done; wait";
}

}  // namespace

void add_experiment(Command parent, Action& action) {
  const auto options = std::make_shared<ExperimentOptions>();
  RunOptions& run = options->run;
  const Command command = parent.add_command(kExperiment.name, kExperiment.about);
  command.add_option("name", options->name, "Which").required();
  command.add_option("--seeds", run.seeds, "Seeds 1 to N; on validation data 1000 is added to each")
      .between(1, 1000)
      .shows_default();
  command.add_option("--only-seed", run.only_seed, "Leave the other seeds to other processes; the last one reports")
      .between(1, 1000);
  command.add_flag("--quick", run.quick, "Seconds instead of minutes, too small to mean anything");
  command.add_option("--device", run.device, "Where to learn: cpu or cuda").shows_default();
  command.add_option("--config", run.config, "Configuration; otherwise experiments/NAME.json").type_name("FILE");
  command.add_option("--data", run.data, "Folder with the data; otherwise where its package puts it").type_name("DIR");
  command.add_option("--on", run.measured_on, "Data to measure on: test, or validation, to choose settings with")
      .shows_default();
  command.add_option("-o,--output", run.out, "Folder of results; otherwise results, or results/tmp with --quick")
      .type_name("DIR");
  command
      .add_option("--cache", run.cache,
                  "Folder of trained models, to be shared; otherwise .cache in the folder of results")
      .type_name("DIR");
  options->common.offer_all(command);
  command.footer(footer());
  command.runs(action, [options] { return run_command(*options); });
}

}  // namespace zkapex::cli
