#include "experiments/kinds.h"

namespace zkapex {

const std::vector<ExperimentKind>& experiment_kinds() {
  static const std::vector<ExperimentKind> kinds = {table1_experiment()};
  return kinds;
}

}  // namespace zkapex
