#include "unlearning/dense_obs.h"

#include <cmath>

namespace zkapex {

Result<std::vector<double>> dense_obs(std::span<const double> a, std::span<const double> theta,
                                      std::span<const uint32_t> masked) {
  const size_t n = theta.size();
  if (a.size() != n * n) return error("{} values are not a matrix of {}", a.size(), n);
  std::vector<double> x(n, 0.0);
  std::vector<bool> is_masked(n, false);
  for (const uint32_t m : masked) {
    if (m >= n) return error("position {} is not in a block of {}", m, n);
    is_masked[m] = true;
    x[m] = -theta[m];
  }
  std::vector<size_t> kept;
  for (size_t k = 0; k < n; ++k)
    if (!is_masked[k]) kept.push_back(k);

  // A_CC = L Lᵀ row by row, and the forward solve L z = -A_CM x_M with it.
  const size_t count = kept.size();
  std::vector<double> factor(count * count), z(count);
  for (size_t i = 0; i < count; ++i) {
    const auto row = a.subspan(kept[i] * n, n);
    for (size_t j = 0; j <= i; ++j) {
      double v = row[kept[j]];
      for (size_t k = 0; k < j; ++k) v -= factor[i * count + k] * factor[j * count + k];
      if (i == j && !(v > 0)) return error("the curvature of the kept weights is not positive definite");
      factor[i * count + j] = i == j ? std::sqrt(v) : v / factor[j * count + j];
    }
    double right = 0;
    for (const uint32_t m : masked) right -= row[m] * x[m];
    for (size_t k = 0; k < i; ++k) right -= factor[i * count + k] * z[k];
    z[i] = right / factor[i * count + i];
  }
  for (size_t i = count; i-- > 0;) {
    double v = z[i];
    for (size_t k = i + 1; k < count; ++k) v -= factor[k * count + i] * x[kept[k]];
    x[kept[i]] = v / factor[i * count + i];
  }
  return x;
}

}  // namespace zkapex
