#include "tables/runner.h"

#include <cmath>
#include <set>
#include <thread>

#include "base/machine.h"
#include "base/stopwatch.h"
#include "data/documents.h"
#include "tables/cells.h"
#include "tables/folders.h"

namespace zkapex {

namespace {

using nlohmann::ordered_json;

std::string clock_text(double seconds) {
  const auto whole = static_cast<uint64_t>(std::llround(seconds));
  return whole < 3600 ? fmt::format("{}:{:02}", whole / 60, whole % 60)
                      : fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// All cells of one run, and what became of them.
class Run {
 public:
  Run(const ExperimentKind& kind, const RunOptions& options, const WorkSettings& work,
      const std::function<void(const std::string&)>& tell)
      : kind_(kind), options_(options), work_(work), tell_(tell), store_(options.out) {}

  Result<RunOutcome> run() {
    ZKAPEX_CHECK(prepare());
    ZKAPEX_CHECK(check_cells());
    // In the second round, what another process was at: it is done by now, or is to be waited for, or was given up.
    for (const Wait wait : {Wait::kNo, Wait::kYes}) {
      for (const CellKey& key : keys_) {
        if (options_.only_seed != 0 && key.seed != options_.only_seed) continue;
        ZKAPEX_CHECK(finish_cell(key, wait));
      }
    }
    const uint64_t finished = count_finished();
    if (finished < keys_.size())
      return RunOutcome{.cells = keys_.size(), .skipped = skipped_, .missing = keys_.size() - finished};
    return write_report();
  }

 private:
  enum class Wait { kNo, kYes };

  // Settings are chosen with other draws, hence other models and other forget sets, than those that are reported.
  [[nodiscard]] uint64_t drawn_with(const CellKey& key) const {
    return key.seed + (options_.measured_on == "validation" ? 1000 : 0);
  }

  Status prepare() {
    Path config = options_.config;
    if (config.empty()) {
      ZKAPEX_TRY(config, find_config(kind_.name, options_.program));
    }
    ZKAPEX_TRY(config_, ExperimentConfig::load(config, kind_.name, options_.quick));
    auto made = kind_.make(config_.settings);
    if (!made.ok()) return made.error().within(config.string());
    experiment_ = *std::move(made);
    const std::string digest = configuration_digest(config_.settings, options_.measured_on);
    // Seed after seed, so that a run that is stopped has whole tables.
    for (uint64_t seed = 1; seed <= options_.seeds; ++seed) {
      for (const std::string& variant : experiment_->variants()) {
        if (!is_variant_name(variant)) return error("'{}' cannot be the name of a file", variant);
        keys_.push_back({std::string(kind_.name), variant, seed, digest});
      }
    }
    return Done{};
  }

  // Refuses before anything is computed.
  Status check_cells() {
    for (const CellKey& key : keys_) {
      const auto found = store_.load(key);
      if (found.ok()) {
        skipped_ += *found ? 1 : 0;
      } else if (!options_.force) {
        return found.error();
      } else {
        ZKAPEX_CHECK(remove_tree(store_.file(key)));
      }
    }
    if (skipped_ > 0) tell_(fmt::format("{} of {} cells are there already", skipped_, keys_.size()));
    return Done{};
  }

  [[nodiscard]] Path cache() const { return options_.cache.empty() ? options_.out / ".cache" : options_.cache; }

  Status finish_cell(const CellKey& key, Wait wait) {
    const std::string name =
        fmt::format("{}-{}-seed{}-{}", key.experiment, key.variant, key.seed, key.configuration.substr(0, 16));
    const Path locked = cache() / "locks" / name;
    ZKAPEX_CHECK(make_folder(locked));
    std::optional<FolderLock> lock;
    if (wait == Wait::kYes) {
      ZKAPEX_TRY(lock, wait_for_lock(locked));
    } else {
      ZKAPEX_TRY(lock, FolderLock::try_take(locked));
      if (!lock) return Done{};
    }
    ZKAPEX_TRY(const auto finished, store_.load(key));
    if (finished) return Done{};
    return compute(key, cache() / "scratch" / name);
  }

  Status compute(const CellKey& key, const Path& scratch) {
    ZKAPEX_CHECK(remove_tree(scratch));  // of a run that was stopped
    ZKAPEX_CHECK(make_folder(scratch));
    const Stopwatch watch;
    const CellWork work{.work = work_,
                        .device = options_.device,
                        .measured_on = options_.measured_on,
                        .data = options_.data,
                        .models = cache() / "models",
                        .scratch = scratch};
    Result<ordered_json> figures = experiment_->run(key.variant, drawn_with(key), work);
    ZKAPEX_CHECK(remove_tree(scratch));
    if (!figures.ok()) return figures.error().within(fmt::format("{}, seed {}", key.variant, key.seed));
    const double seconds = watch.seconds();
    ordered_json machine = machine_description();
    machine["threads"] = work_.pool->size();
    machine["device"] = options_.device;
    ZKAPEX_CHECK(store_.save(
        key, {{"figures", *figures}, {"seconds", seconds}, {"machine", machine}, {"versions", options_.versions}}));
    ++computed_;
    seconds_ += seconds;
    tell_progress(key, seconds);
    return Done{};
  }

  // By whomever.
  [[nodiscard]] uint64_t count_finished() const {
    uint64_t out = 0;
    std::error_code ignored;
    for (const CellKey& key : keys_) out += std::filesystem::exists(store_.file(key), ignored) ? 1 : 0;
    return out;
  }

  void tell_progress(const CellKey& key, double seconds) {
    const uint64_t finished = count_finished();
    const double left = static_cast<double>(keys_.size() - finished) * seconds_ / static_cast<double>(computed_);
    tell_(fmt::format("[{}/{}] {}, seed {}: {:.1f} s, ETA {}", finished, keys_.size(), key.variant, key.seed, seconds,
                      clock_text(left)));
  }

  Result<RunOutcome> write_report() {
    Results results;
    ordered_json cells = ordered_json::array();
    std::set<std::string> machines;
    for (const CellKey& key : keys_) {
      ZKAPEX_TRY(auto cell, store_.load(key));
      if (!cell) return error("{} has gone", store_.file(key).string());
      machines.insert((*cell)["machine"].dump());
      results.add(key.variant, drawn_with(key), (*cell)["figures"]);
      cells.push_back(*std::move(cell));
    }
    const ExperimentReport report = experiment_->report(results, config_.paper);
    ordered_json document{{"format", "zkapex-experiment"},
                          {"version", 1},
                          {"experiment", kind_.name},
                          {"title", report.title},
                          {"measured_on", options_.measured_on},
                          {"quick", options_.quick},
                          {"seeds", results.seeds()},
                          {"setup", experiment_->describe()},
                          {"table", report.table},
                          {"paper", config_.paper},
                          {"notes", config_.notes},
                          {"settings", config_.settings},
                          {"configuration", keys_.front().configuration},
                          {"versions", options_.versions}};
    for (const std::string& machine : machines) document["machines"].push_back(ordered_json::parse(machine));
    const RunOutcome out{.cells = keys_.size(),
                         .skipped = skipped_,
                         .markdown = named(".md"),
                         .json = named(".json"),
                         .svg = named(".svg"),
                         .text = report_text(document, report)};
    document["cells"] = std::move(cells);
    ZKAPEX_CHECK(write_text(out.json, document.dump(2) + "\n"));
    ZKAPEX_CHECK(write_text(out.svg, chart_svg(report.chart)));
    ZKAPEX_CHECK(write_text(out.markdown, out.text));
    return out;
  }

  [[nodiscard]] Path named(const char* ending) const { return options_.out / (std::string(kind_.name) + ending); }

  [[nodiscard]] std::string report_text(const ordered_json& document, const ExperimentReport& report) const {
    std::string out =
        fmt::format("# {}\n\n{}\n![{}]({}.svg)\n\n", report.title, report.markdown, report.chart.title, kind_.name);
    for (const std::string& note : config_.notes) out += fmt::format("{}\n\n", note);
    for (const auto& [key, value] : document["setup"].items())
      out += fmt::format("- {}: {}\n", key, value.is_string() ? value.get<std::string>() : value.dump());
    out += fmt::format("- seeds: {} (mean ± standard deviation)", options_.seeds);
    if (!document["setup"].contains("measured")) out += fmt::format(", measured on {} data", options_.measured_on);
    out += options_.quick ? ", QUICK RUN: too small to mean anything\n" : "\n";
    for (const ordered_json& machine : document["machines"]) {
      out += fmt::format("- machine: {}, {} processors, {} threads used, device {}\n",
                         machine.value("cpu", "unknown processor"), machine.value("processors", 0U),
                         machine.value("threads", size_t{0}), machine.value("device", ""));
    }
    out += fmt::format("- made by `zkapex experiment {} --seeds {}`, configuration {}\n", kind_.name, options_.seeds,
                       keys_.front().configuration.substr(0, 16));
    return out;
  }

  const ExperimentKind& kind_;
  const RunOptions& options_;
  const WorkSettings& work_;
  const std::function<void(const std::string&)>& tell_;
  CellStore store_;
  ExperimentConfig config_;
  std::unique_ptr<Experiment> experiment_;
  std::vector<CellKey> keys_;
  uint64_t skipped_ = 0, computed_ = 0;
  double seconds_ = 0;  // spent on the cells computed
};

}  // namespace

Result<RunOutcome> run_experiment(const ExperimentKind& kind, const RunOptions& options, const WorkSettings& work,
                                  const std::function<void(const std::string&)>& tell) {
  return Run(kind, options, work, tell).run();
}

}  // namespace zkapex
