// Every experiment's entry in the list of them, one function per file.
#pragma once

#include "experiments/experiment.h"

namespace zkapex {

[[nodiscard]] ExperimentKind table1_experiment();
[[nodiscard]] ExperimentKind llm_experiment();
[[nodiscard]] ExperimentKind edge_experiment();
[[nodiscard]] ExperimentKind baseline_cost_experiment();

}  // namespace zkapex
