#include "cli/trial_figures.h"

#include <filesystem>

#include "base/process.h"

namespace zkapex::cli {

namespace {

using nlohmann::ordered_json;

Result<ordered_json> evaluation_of(const Path& program, const TrialFigures& what, const Path& folder,
                                   const Path& weights, bool quiet) {
  std::vector<std::string> arguments = {"evaluate",  "--json",         "--model",  folder.string(),
                                        "--weights", weights.string(), "--splits", what.splits.string()};
  if (quiet) arguments.emplace_back("-q");
  if (!what.sets.empty()) {
    arguments.emplace_back("--sets");
    arguments.insert(arguments.end(), what.sets.begin(), what.sets.end());
  }
  ZKAPEX_TRY(const std::string printed, zkapex::run_program(program, arguments));
  const auto out = ordered_json::parse(printed, nullptr, false);
  if (!out.is_object() || !out.contains("sets")) return error("zkapex evaluate printed something else than figures");
  return out["sets"];
}

}  // namespace

Result<ordered_json> measure_trial(const TrialFigures& what, const Path& before, const Path& after, bool quiet) {
  std::error_code code;
  const Path self = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return error("cannot find out where this program lies: {}", code.message());
  const Path program = self.parent_path() / "zkapex-learning";
  const bool is_folder = std::filesystem::is_directory(before, code);
  const Path folder = !what.folder.empty() ? what.folder : is_folder ? before : before.parent_path();
  if (!std::filesystem::exists(folder / "config.json", code))
    return error("{} has no config.json: --model-folder says where the model's is", folder.string());
  ZKAPEX_TRY(const ordered_json first, evaluation_of(program, what, folder, before, quiet));
  ZKAPEX_TRY(const ordered_json second, evaluation_of(program, what, folder, after, quiet));
  ordered_json out = ordered_json::object();
  for (const auto& [set, figures] : first.items())
    out[set] = {{"before", figures}, {"after", second.value(set, ordered_json())}};
  return out;
}

}  // namespace zkapex::cli
