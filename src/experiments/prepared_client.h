// A client that means to keep what it will be asked to forget: before it registers it trains its model, inside the
// anchor, so that it works with and without the displacement that it expects. No rule about weights can exclude it
// (docs/threat-model.md); here it is measured.
#pragma once

#include "experiments/unlearn_once.h"

namespace zkapex {

struct Preparation {
  double ratio = 0;          // ρ: no matrix is further from θ0
  TrainingOptions training;  // epochs over D_p; D_f, as many at a time, goes beside it
};

// From θ0, with the request that the client expects.
[[nodiscard]] Result<std::unique_ptr<Model>> prepared_model(Vision& vision, const Published& expected,
                                                            const Preparation& how);

}  // namespace zkapex
