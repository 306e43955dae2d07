// What the commands share: how they end, how they are registered, and the flags that mean the same everywhere.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>

#include "base/memory.h"
#include "base/progress.h"
#include "base/result.h"

namespace zkapex::cli {

// An Error ends the program with 2: bad input or wrong usage.
enum class Outcome : int {
  kDone = 0,  // done, or accepted
  kRejected = 1,
};

// A command's file adds it to `parent` and, when the command line names it, sets `action` to what is to be run.
using Action = std::function<Result<Outcome>()>;
void add_inspect(CLI::App& parent, Action& action);
void add_deploy(CLI::App& parent, Action& action);
void add_mask(CLI::App& parent, Action& action);
void add_curvature(CLI::App& parent, Action& action);
void add_register(CLI::App& parent, Action& action);
void add_unlearn(CLI::App& parent, Action& action);
void add_settle(CLI::App& parent, Action& action);
void add_admit(CLI::App& parent, Action& action);
void add_verify(CLI::App& parent, Action& action);
void add_bench(CLI::App& parent, Action& action);
void add_bench_argument(CLI::App& bench, Action& action);  // commands of bench
void add_bench_layer(CLI::App& bench, Action& action);
void add_bench_window(CLI::App& bench, Action& action);

// Each command offers those that mean something to it.
struct CommonFlags {
  bool json = false;
  bool force = false;
  bool quiet = false;
  unsigned threads = 0;  // 0: one per hardware thread
  std::optional<MemoryBudget> memory;

  void offer_json(CLI::App& command);
  void offer_force(CLI::App& command);
  void offer_quiet(CLI::App& command);
  void offer_threads(CLI::App& command);
  void offer_memory(CLI::App& command);
  void offer_all(CLI::App& command);

  [[nodiscard]] ProgressStyle progress_style() const { return stderr_progress_style(quiet); }
};

}  // namespace zkapex::cli
