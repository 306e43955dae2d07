// zkapex bench window: a whole window at the size of a real model, on one path or on two, one after the other.
#include <fmt/format.h>

#include <cstdlib>

#include "base/cpu.h"
#include "base/machine.h"
#include "base/process.h"
#include "cli/window_bench.h"

namespace zkapex::cli {

namespace {

struct WindowFlags {
  WindowBenchFlags bench;
  bool compare = false;
};

void print(const nlohmann::ordered_json& out, bool json) {
  if (json) {
    fmt::print("{}\n", out.dump(2));
    return;
  }
  for (const auto& [key, value] : out.items()) fmt::print("{:>24}  {}\n", key, value.dump());
}

// The same bench in a process of its own: which instructions are used is decided once in a process.
Result<nlohmann::ordered_json> run_on(InstructionSet set, const WindowBenchFlags& flags, const Path& folder) {
  std::error_code code;
  const Path self = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return error("cannot find out where this program lies: {}", code.message());
  std::vector<std::string> arguments = {"bench",        "window",
                                        "--json",       "--quiet",
                                        "--shape",      flags.shape,
                                        "--layers",     std::to_string(flags.layers),
                                        "--block",      std::to_string(flags.block),
                                        "--bits",       std::to_string(flags.bits),
                                        "--seed",       std::to_string(flags.seed),
                                        "--ratio",      fmt::format("{}", flags.ratio),
                                        "--work",       folder.string(),
                                        "--row-length", std::to_string(flags.row),
                                        "--threads",    std::to_string(flags.common.threads)};
  if (flags.guided) arguments.emplace_back("--guided");
  if (flags.no_anchor) arguments.emplace_back("--no-anchor");
  if (flags.common.memory)
    arguments.insert(arguments.end(), {"--memory", fmt::format("{}K", flags.common.memory->bytes() >> 10)});
  if (::setenv("ZKAPEX_CPU", std::string(name(set)).c_str(), 1) != 0) return error("cannot set ZKAPEX_CPU");
  ZKAPEX_TRY(const std::string printed, run_program(self, arguments));
  auto out = nlohmann::ordered_json::parse(printed, nullptr, false);
  if (!out.is_object()) return error("zkapex bench window printed something else than figures");
  return out;
}

// The best path of this machine and the one before it.
Result<Outcome> compare(const WindowBenchFlags& flags) {
  const std::vector<InstructionSet> sets = instruction_sets_up_to(instruction_set());
  if (sets.size() < 2) return error("there is nothing to compare: this machine has the portable path only");
  const InstructionSet best = sets.back(), baseline = sets[sets.size() - 2];
  ZKAPEX_TRY(const WorkFolder folder, WorkFolder::make(flags.work));
  nlohmann::ordered_json out{{"machine", machine_description()}}, ratios;
  for (const InstructionSet set : {baseline, best}) {
    ZKAPEX_TRY(out[name(set)], run_on(set, flags, folder.path()));
  }
  for (const auto& [key, value] : out[name(best)].items()) {
    if (!key.ends_with("_s") || !value.is_number()) continue;
    ratios[key] = value.get<double>() / out[name(baseline)][key].get<double>();
  }
  out["best_to_baseline"] = ratios;
  print(out, flags.common.json);
  return Outcome::kDone;
}

Result<Outcome> run(const WindowFlags& flags) {
  if (flags.compare) return compare(flags.bench);
  ZKAPEX_TRY(const std::unique_ptr<WindowBench> bench, WindowBench::make(flags.bench));
  ZKAPEX_CHECK(bench->register_client());
  ZKAPEX_CHECK(bench->window());
  print(bench->figures(), flags.bench.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_bench_window(Command bench, Action& action) {
  auto flags = std::make_shared<WindowFlags>();
  const Command command =
      bench.add_command("window", "Register, unlearn, prove and verify at the size of a real model.");
  command.footer(
      "Weights and curvature are made up from a seed; nothing but the curvature store is written.\n\n"
      "--compare does it twice, on the best path that this machine has (avx2, say) and on the one before it, and "
      "gives\n"
      "the ratios of all times.\n\n"
      "Examples:\n"
      "  zkapex bench window --shape vit-b16 --layers 1\n"
      "  zkapex bench window --shape vit-b16 --layers 1 --compare --json\n"
      "  zkapex bench window --shape vit-b16 --json          all 12 layers: 56.6 million weights, a store of 7.3 GB\n"
      "  zkapex bench window --shape vit-tiny");
  command.add_flag("--compare", flags->compare, "The best path and the one before it, one after the other");
  flags->bench.offer(command);
  command.runs(action, [flags] { return run(*flags); });
}

}  // namespace zkapex::cli
