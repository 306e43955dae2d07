#include "experiments/kinds.h"

namespace zkapex {

const std::vector<ExperimentKind>& experiment_kinds() {
  static const std::vector<ExperimentKind> kinds = {table1_experiment(), llm_experiment(), edge_experiment(),
                                                    baseline_cost_experiment()};
  return kinds;
}

}  // namespace zkapex
