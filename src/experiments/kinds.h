// Every experiment's entry in the list of them.
#pragma once

#include "tables/experiment.h"

namespace zkapex {

[[nodiscard]] ExperimentKind table1_experiment();
[[nodiscard]] ExperimentKind guided_experiment();
[[nodiscard]] ExperimentKind prepared_experiment();
[[nodiscard]] ExperimentKind drift_experiment();
[[nodiscard]] ExperimentKind llm_experiment();
[[nodiscard]] ExperimentKind edge_experiment();
[[nodiscard]] ExperimentKind adaptformer_experiment();
[[nodiscard]] ExperimentKind lora_experiment();
[[nodiscard]] ExperimentKind structured_experiment();
[[nodiscard]] ExperimentKind forget_size_experiment();
[[nodiscard]] ExperimentKind ablation_block_experiment();
[[nodiscard]] ExperimentKind ablation_damping_experiment();
[[nodiscard]] ExperimentKind ablation_sparsity_experiment();
[[nodiscard]] ExperimentKind saliency_anchor_experiment();
[[nodiscard]] ExperimentKind appendix_a_experiment();
[[nodiscard]] ExperimentKind baseline_cost_experiment();

}  // namespace zkapex
