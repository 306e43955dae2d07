// Runs an experiment: every cell that is not there yet, then table, data and picture.
#pragma once

#include <functional>
#include <string>

#include "tables/experiment.h"

namespace zkapex {

struct RunOptions {
  Path out;
  Path cache;   // of trained models, and of cells at work; empty: OUT/.cache
  Path config;  // empty: where find_config finds it
  Path program;
  Path data;
  uint64_t seeds = 3;      // 1 .. seeds; on validation data 1000 is added to each
  uint64_t only_seed = 0;  // compute the cells of this seed alone and leave the others to other processes; 0: all
  bool quick = false;
  bool force = false;  // compute cells again that another configuration left
  std::string device = "cpu", measured_on = "test";
  nlohmann::ordered_json versions;  // of the program and its libraries, for the report
};

struct RunOutcome {
  uint64_t cells = 0, skipped = 0;          // of all seeds; those that were there
  uint64_t missing = 0;                     // left to others: then there is no report yet, and what follows is empty
  Path markdown = {}, json = {}, svg = {};  // written
  std::string text = {};                    // of the Markdown
};

// `tell` hears a line for each cell. Several processes may run the same experiment into the same folder: each cell is
// computed by one of them, and the last to finish leaves the complete report.
[[nodiscard]] Result<RunOutcome> run_experiment(const ExperimentKind& kind, const RunOptions& options,
                                                const WorkSettings& work,
                                                const std::function<void(const std::string&)>& tell);

}  // namespace zkapex
