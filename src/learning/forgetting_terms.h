// The paper's appendix A, measured: what masking and compensation each do to the loss on the forget set, to second
// order.
//
// With H taken as the empirical Fisher of the forget set, every quadratic form is a mean over samples of products of
// directional derivatives: for a direction d, gᵀd = mean_s (g_s·d), dᵀHe = mean_s (g_s·d)(g_s·e). Nothing larger than a
// weight is ever formed.
#pragma once

#include <string>
#include <vector>

#include "learning/fisher.h"

namespace zkapex {

struct ForgettingTerms {
  double mask = 0;       // S_mask = −g_Mᵀ a_M + ½ a_Mᵀ H_MM a_M
  double linear = 0;     // g_Cᵀ δ_C
  double cross = 0;      // −δ_Cᵀ H_CM a_M
  double quadratic = 0;  // ½ δ_Cᵀ (H_CC + λ) δ_C
  double measured = 0;   // L(θ_u) − L(θ_p), the whole of it
  double bound = 0;  // ‖b‖² / 2λ ≥ −f for every δ_C, where b = g_C − H_CM a_M (infinite when λ is zero)
  double residual_gradient = 0;  // ‖g_C‖
  int64_t samples = 0;

  [[nodiscard]] double compensation() const { return linear + cross + quadratic; }  // f(δ_C)
};

// `before` is θ_p, `after` θ_u; masks (uint8) are like the covered weights. λ is `damping`.
[[nodiscard]] Result<ForgettingTerms> forgetting_terms(const Model& before, const Model& after,
                                                       const std::vector<std::string>& covered,
                                                       const std::vector<Tensor>& masks, double damping,
                                                       const BatchSource& forget);

}  // namespace zkapex
