// Requests with a guide, for experiments: the rehearsal's settings, and its result, made once and shared.
#pragma once

#include "experiments/model_cache.h"
#include "experiments/steps.h"
#include "learning/rehearsed_request.h"
#include "tables/config.h"
#include "tables/experiment.h"

namespace zkapex {

struct RehearsalSettings {
  // A request for classes, or one for samples.
  struct Objective {
    std::string ratio;  // of weights that are removed
    uint64_t pull = 0;
    double rate = 0, weight = 0;
  };
  double damping = 0.2;  // of clients' curvature, simulated and real
  SimulationOptions simulation;
  RehearsalPlan plan;
  Objective classes, samples;

  [[nodiscard]] static Status parse(const nlohmann::json& settings, const std::string& where, RehearsalSettings& out);
  [[nodiscard]] const Objective& objective(bool by_class) const { return by_class ? classes : samples; }
  // What the operator has in common with requests without a guide, with the mask and damping of this one.
  [[nodiscard]] OperatorSettings applied_to(OperatorSettings settings, bool by_class) const;
  // All that decides a guide, beside model and data.
  [[nodiscard]] nlohmann::json recipe(bool by_class) const;
  [[nodiscard]] std::string describe() const;  // for reports
};

// D_f, D_r, and data like D_f that nobody was trained on, from whatever opens sets by name.
template <class Sets>
[[nodiscard]] Result<RehearsalData> rehearsal_data(Sets& sets) {
  ZKAPEX_TRY(Samples forget, sets.samples("forget"));
  ZKAPEX_TRY(Samples retain, sets.samples("retain"));
  ZKAPEX_TRY(Samples held_out, sets.samples("forget-validation"));
  return RehearsalData{std::move(forget), std::move(retain), std::move(held_out)};
}

// What is changed of the request that the rehearsal made.
struct GuideChange {
  double scale = 1, pull_factor = 1;
  double noise = 0;  // of every weight, as a multiple of the root mean square of Δ in its tensor
};

// One seed's provider.
struct GuideInputs {
  Path original;  // the folder of θ0
  const Model& model;
  const SampleSet& retain;
  const InputFormat& format;
  const RehearsalData& data;
  bool by_class = false;
  uint64_t seed = 0;
};

// `mask` with a guide. `key` tells of model and data.
[[nodiscard]] Result<Mask> guided_request(const ModelCache& cache, nlohmann::json key, const GuideInputs& inputs,
                                          const Deployment& deployment, const Mask& mask,
                                          const RehearsalSettings& settings, const GuideChange& change,
                                          const CellWork& work);

}  // namespace zkapex
