// What the commands share: how they are registered, and the flags that mean the same everywhere.
#pragma once

#include <optional>

#include "base/memory.h"
#include "base/progress.h"
#include "cli/options.h"

namespace zkapex::cli {

// A command's file adds it to `parent` and, when the command line names it, sets `action` to what is to be run.
void add_inspect(Command parent, Action& action);
void add_deploy(Command parent, Action& action);
void add_mask(Command parent, Action& action);
void add_curvature(Command parent, Action& action);
void add_register(Command parent, Action& action);
void add_unlearn(Command parent, Action& action);
void add_update(Command parent, Action& action);
void add_settle(Command parent, Action& action);
void add_admit(Command parent, Action& action);
void add_publish(Command parent, Action& action);
void add_verify(Command parent, Action& action);
void add_bench(Command parent, Action& action);
void add_bench_argument(Command bench, Action& action);  // commands of bench
void add_bench_batch(Command bench, Action& action);
void add_bench_layer(Command bench, Action& action);
void add_bench_window(Command bench, Action& action);

// Of zkapex-network; those of the provider where the service is built, in cli/service/.
void add_agent(Command parent, Action& action);
void add_audit(Command parent, Action& action);
void add_provider(Command parent, Action& action);
void add_bench_service(Command bench, Action& action);
void add_bench_capacity(Command bench, Action& action);

// Each command offers those that mean something to it.
struct CommonFlags {
  bool json = false;
  bool force = false;
  bool quiet = false;
  unsigned threads = 0;  // 0: one per hardware thread
  std::optional<MemoryBudget> memory;
  bool estimate = false;

  void offer_json(Command command);
  void offer_force(Command command);
  void offer_quiet(Command command);
  void offer_threads(Command command);
  void offer_memory(Command command);
  void offer_estimate(Command command);
  void offer_all(Command command);

  [[nodiscard]] ProgressStyle progress_style() const { return stderr_progress_style(quiet); }
};

}  // namespace zkapex::cli
