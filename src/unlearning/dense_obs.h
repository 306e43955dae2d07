// Group-OBS written plainly in double precision: what the fast operator is compared with.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"

namespace zkapex {

// x with x_M = -θ_M and x_C = -A_CC⁻¹ A_CM x_M, for a symmetric positive definite matrix A, row-major; `masked` lists
// positions, increasing. An error when A_CC is not positive definite.
[[nodiscard]] Result<std::vector<double>> dense_obs(std::span<const double> a, std::span<const double> theta,
                                                    std::span<const uint32_t> masked);

}  // namespace zkapex
