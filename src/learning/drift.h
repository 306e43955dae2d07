// How far one model is from another, in the measures of the anchor (unlearning/anchor.h).
#pragma once

#include "base/json.h"
#include "learning/model.h"

namespace zkapex {

struct Drift {
  // Of all but the classifier.
  double matrices = 0;  // ‖θ − θ0‖ / ‖θ0‖ of the matrix that went furthest
  double vectors = 0;   // root mean square of θ − θ0 in the bias or gain that went furthest
  double added = 0;     // root mean square of the entries of a branch's matrix or bias, the largest
  // Of the classifier, which a deployment may leave free (`deploy --free`).
  double head = 0, head_bias = 0;

  [[nodiscard]] nlohmann::ordered_json as_json() const {
    return {{"matrices", matrices}, {"vectors", vectors}, {"added", added}, {"head", head}, {"head_bias", head_bias}};
  }
};

// Of models with the same parameters; AdaptFormer's branches are those of `model`.
[[nodiscard]] Result<Drift> drift_from(const Model& base, const Model& model);

}  // namespace zkapex
