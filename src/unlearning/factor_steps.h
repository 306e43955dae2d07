// Steps of Group-OBS by the stored factor itself, without a factor of A_CC: the curvature is A = L Lᵀ + μ I with a
// small floor μ, and few of a block's coordinates are masked.
//
// With W = L⁻¹ P, P the unit vectors of the mask, the step δ that is zero on M and has (L Lᵀ δ)_C = −y_C is
//
//   δ = L⁻ᵀ (I − W (Wᵀ W)⁻¹ Wᵀ) L⁻¹ (−y)
//
// since its part on M is Wᵀ times a vector that is orthogonal to W. What μ δ leaves is corrected by a second such step.
#pragma once

#include <span>
#include <vector>

#include "unlearning/exact_curvature.h"

namespace zkapex {

class FactorSteps {
 public:
  // False where that would be dearer, or converge slowly: then a factor of A_CC is better. The curvature outlives it.
  bool prepare(const ExactCurvature& curvature, std::span<const uint32_t> masked);

  // step ≈ -(A_CC)⁻¹ y_C on C, zero on M and padding.
  void solve(std::span<const int128> y, std::vector<double>& step);

 private:
  void solve_once(std::vector<float>& x);

  const ExactCurvature* curvature_ = nullptr;
  std::span<const uint32_t> masked_;
  size_t first_ = 0;  // panel with the first masked coordinate
  std::vector<float> inverses_;
  PanelMatrix<float> images_;  // W
  PanelMatrix<float> gram_;    // the Cholesky factor of Wᵀ W
  std::vector<float> right_, second_, weights_, scratch_;
};

}  // namespace zkapex
