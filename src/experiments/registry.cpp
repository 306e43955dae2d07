#include "experiments/kinds.h"

namespace zkapex {

const std::vector<ExperimentKind>& experiment_kinds() {
  static const std::vector<ExperimentKind> kinds = {
      table1_experiment(),
      llm_experiment(),
      edge_experiment(),
      adaptformer_experiment(),
      structured_experiment(),
      forget_size_experiment(),
      ablation_block_experiment(),
      ablation_damping_experiment(),
      ablation_sparsity_experiment(),
      saliency_anchor_experiment(),
      appendix_a_experiment(),
      baseline_cost_experiment(),
      guided_experiment(),
      lora_experiment(),
      prepared_experiment(),
      drift_experiment(),
  };
  return kinds;
}

}  // namespace zkapex
