// The verifier of a window.
#pragma once

#include "attestation/window_relation.h"

namespace zkapex {

// What must add up to the identity. Rows of the statement are decoded too: nothing is trusted.
[[nodiscard]] inline Result<PointSum, Rejection> check_window(const WindowStatement& statement, const WindowPlan& plan,
                                                              const Proof& proof, ThreadPool& pool) {
  return check(WindowRelation(statement, plan), proof, pool);
}

// Com(θ_u).
[[nodiscard]] inline std::vector<EncodedPoint> unlearned_rows(const WindowPlan& plan, const Proof& proof) {
  return {proof.rows.begin(), proof.rows.begin() + static_cast<ptrdiff_t>(plan.weight_rows())};
}

}  // namespace zkapex
