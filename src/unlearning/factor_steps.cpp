#include "unlearning/factor_steps.h"

#include <algorithm>
#include <cmath>

namespace zkapex {

namespace {

constexpr size_t kMostMasked = 4;  // a quarter of the block; then a factor of A_CC costs no more

// μ against the least pivot of L Lᵀ: what a step leaves is at best the square of that.
constexpr float kSmallFloor = 1.0F / 16;

}  // namespace

bool FactorSteps::prepare(const ExactCurvature& curvature, std::span<const uint32_t> masked) {
  const PanelMatrix<float>& upper = curvature.upper();
  const size_t n = curvature.columns();
  if (masked.size() * kMostMasked > curvature.size()) return false;
  float least = std::fabs(upper.at(0, 0));
  for (size_t k = 0; k < curvature.size(); ++k) least = std::min(least, std::fabs(upper.at(k, k)));
  if (static_cast<float>(curvature.floor()) > kSmallFloor * least * least) return false;

  curvature_ = &curvature;
  masked_ = masked;
  const TriangleKernels& triangle = TriangleKernels::get();
  inverses_.resize(upper.panels() * TriangleKernels::kInverse);
  triangle.invert_blocks(upper.view(), inverses_.data());
  if (masked.empty()) return true;
  images_.resize(n, masked.size());
  first_ = masked.front() / kPanel;
  for (size_t m = 0; m < masked.size(); ++m) images_.at(masked[m], m) = 1;
  for (size_t q = 0; q < images_.panels(); ++q)
    triangle.solve_many(upper.view(), inverses_.data(), masked[q * kPanel] / kPanel, images_.panel(q));
  const size_t padded = images_.panels() * kPanel;
  gram_.reshape(padded, padded);
  const auto& dense = DenseKernels<float>::get();
  dense.gram(std::as_const(images_).view(), nullptr, gram_.view());
  for (size_t m = masked.size(); m < padded; ++m) gram_.at(m, m) = 1;
  scratch_.resize(padded * kMaxLanes);
  return dense.cholesky(gram_.view(), 0);
}

// x becomes L⁻ᵀ (I − W (Wᵀ W)⁻¹ Wᵀ) L⁻¹ x, zero on M.
void FactorSteps::solve_once(std::vector<float>& x) {
  const TriangleKernels& triangle = TriangleKernels::get();
  triangle.solve(curvature_->upper().view(), inverses_.data(), 0, x.data());
  if (!masked_.empty()) {
    const size_t n = x.size(), begin = first_ * kPanel;  // W is zero above
    weights_.assign(gram_.rows(), 0);
    for (size_t q = 0; q < images_.panels(); ++q) {
      const float* panel = images_.panel(q);
      float sums[kPanel] = {};
      for (size_t k = begin; k < n; ++k)
        for (size_t c = 0; c < kPanel; ++c) sums[c] += panel[k * kPanel + c] * x[k];
      std::copy_n(sums, kPanel, &weights_[q * kPanel]);
    }
    DenseKernels<float>::get().solve(std::as_const(gram_).view(), weights_.data(), scratch_.data());
    for (size_t q = 0; q < images_.panels(); ++q) {
      const float* panel = images_.panel(q);
      for (size_t k = begin; k < n; ++k) {
        float sum = 0;
        for (size_t c = 0; c < kPanel; ++c) sum += panel[k * kPanel + c] * weights_[q * kPanel + c];
        x[k] -= sum;
      }
    }
  }
  triangle.solve_transposed(curvature_->lower().view(), inverses_.data(), x.data());
  for (const uint32_t m : masked_) x[m] = 0;
}

void FactorSteps::solve(std::span<const int128> y, std::vector<double>& step) {
  const size_t n = curvature_->columns();
  step.resize(n);
  double largest = 0;
  for (size_t k = 0; k < n; ++k) step[k] = static_cast<double>(y[k]);
  for (const uint32_t m : masked_) step[m] = 0;
  for (const double v : step) largest = std::max(largest, std::fabs(v));
  const double scale = largest > 0 ? largest : 1;
  right_.resize(n);
  for (size_t k = 0; k < n; ++k) right_[k] = static_cast<float>(-step[k] / scale);
  solve_once(right_);
  second_.resize(n);
  for (size_t k = 0; k < n; ++k) second_[k] = -static_cast<float>(curvature_->floor()) * right_[k];
  solve_once(second_);
  for (size_t k = 0; k < n; ++k) step[k] = scale * (static_cast<double>(right_[k]) + static_cast<double>(second_[k]));
}

}  // namespace zkapex
