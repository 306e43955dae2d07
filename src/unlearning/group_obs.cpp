#include "unlearning/group_obs.h"

#include <algorithm>
#include <cmath>

#include "curvature/factor.h"

namespace zkapex {

namespace {

constexpr unsigned kMaxRefinements = 40;

// Below this the error left after a correction is rounding, not the solver: each correction shrinks it by far more.
constexpr double kSettled = 16;

}  // namespace

GroupObs::GroupObs(const Deployment& deployment, uint64_t pull)
    : weights_(deployment.parameters().weights),
      pull_(pull),
      floor_(deployment.parameters().floor + pull),
      bound_(deployment.residual_bound(pull)),
      block_(deployment.layout().geometry().block),
      curvature_(block_, deployment.parameters().curvature_bits, floor_) {}

Result<ObsOutcome> GroupObs::solve(std::span<const int8_t> factor, const Block& block, std::span<int64_t> out) {
  return solve_entries(factor, block, out);
}
Result<ObsOutcome> GroupObs::solve(std::span<const int16_t> factor, const Block& block, std::span<int64_t> out) {
  return solve_entries(factor, block, out);
}

Status GroupObs::check(const Block& block) const {
  const auto& [theta, masked, guide] = block;
  for (size_t k = 0; k < theta.size(); ++k)
    if (!weights_.contains(theta[k])) return error("weight {} of the block is out of range", k);
  for (size_t k = 0; k < masked.size(); ++k)
    if (masked[k] >= theta.size() || (k > 0 && masked[k] <= masked[k - 1]))
      return error("the mask of the block is not an increasing list of its positions");
  if (guide.empty()) return Done{};
  if (guide.size() != theta.size()) return error("a guide of {} does not fit {} weights", guide.size(), theta.size());
  for (size_t k = 0; k < guide.size(); ++k)
    if (!weights_.contains(guide[k])) return error("the guide of weight {} is out of range", k);
  for (const uint32_t k : masked)
    if (guide[k] != 0) return error("the guide moves weight {}, which the mask removes", k);
  return Done{};
}

template <class Entry>
Result<ObsOutcome> GroupObs::solve_entries(std::span<const Entry> factor, const Block& block, std::span<int64_t> out) {
  const auto& [theta, masked, guide] = block;
  if (theta.empty() || theta.size() > block_ || out.size() != theta.size() || factor.size() != triangle_size(block_))
    return error("{} weights and {} entries do not make a block of {}", theta.size(), factor.size(), block_);
  ZKAPEX_CHECK(check(block));
  ObsOutcome outcome;
  std::copy(theta.begin(), theta.end(), out.begin());
  uint128 squares = 0;
  for (const int64_t v : guide) squares += static_cast<uint128>(static_cast<int128>(v) * v);
  outcome.guide = squares;
  const bool guided = pull_ != 0 && std::ranges::any_of(guide, [](int64_t v) { return v != 0; });
  if (masked.empty() && !guided) return outcome;
  kept_.clear();
  target_.clear();
  for (uint32_t k = 0, m = 0; k < theta.size(); ++k) {
    if (m < masked.size() && masked[m] == k) {
      ++m;
    } else {
      kept_.push_back(k);
      target_.push_back(guided ? static_cast<int128>(pull_) * guide[k] : 0);
    }
  }
  curvature_.load(factor, kept_, masked);
  x_.assign(curvature_.columns(), 0);
  y_.resize(x_.size());
  for (size_t m = 0; m < masked.size(); ++m) x_[curvature_.kept_columns() + m] = -theta[masked[m]];
  if (!kept_.empty() && !solve_with(single_, outcome)) {
    outcome = {};
    outcome.guide = squares;
    outcome.double_precision = true;
    if (!solve_with(double_, outcome))
      return error(
          "no rounding meets the error bound: the block's curvature is too ill-conditioned for it; raise the "
          "error, the fraction bits, or the damping");
  }

  for (size_t k = 0; k < kept_.size(); ++k) {
    out[kept_[k]] += x_[k];
    if (!weights_.contains(out[kept_[k]]))
      return error("weight {} of the block would leave its {} bits", kept_[k], weights_.width);
    outcome.moved += static_cast<uint128>(static_cast<int128>(x_[k]) * x_[k]);
    if (!guide.empty()) outcome.followed += static_cast<int128>(guide[kept_[k]]) * x_[k];
  }
  for (const uint32_t k : masked) {
    outcome.removed += static_cast<uint128>(static_cast<int128>(theta[k]) * theta[k]);
    out[k] = 0;
  }
  return outcome;
}

// y_ = A x_ + t (x_ − Δ), and Σ_C y².
Wide GroupObs::residual() {
  curvature_.apply(x_, y_);
  for (size_t k = 0; k < kept_.size(); ++k) y_[k] -= target_[k];
  uint128 largest = 0;
  for (size_t k = 0; k < kept_.size(); ++k) largest |= static_cast<uint128>(y_[k] < 0 ? ~y_[k] : y_[k]);
  if (largest >> 58 == 0) {  // squares below 2^118, at most 1024 of them
    uint128 sum = 0;
    for (size_t k = 0; k < kept_.size(); ++k) sum += static_cast<uint128>(y_[k] * y_[k]);
    return Wide::from(sum);
  }
  Wide sum;
  for (size_t k = 0; k < kept_.size(); ++k) sum += Wide::square_of(y_[k]);
  return sum;
}

template <class Real>
bool GroupObs::factorize(Solver<Real>& solver) {
  const size_t n = curvature_.kept_columns();
  const PanelMatrix<float>& rows = curvature_.rows();
  solver.factor.reshape(n, n);
  solver.scratch.resize(n * kMaxLanes);
  const auto& kernels = DenseKernels<Real>::get();
  if constexpr (std::is_same_v<Real, float>) {
    if (curvature_.bytes()) {
      packed_.resize((rows.rows() + 3) / 4 * rows.panels());
      FactorKernels::get().gram(rows.view(), curvature_.ends().data(), solver.factor.view(), packed_.data()->bytes);
    } else {
      kernels.gram(rows.view(), curvature_.ends().data(), solver.factor.view());
    }
  } else {
    solver.rows.reshape(rows.rows(), n);
    for (size_t p = 0; p < solver.rows.panels(); ++p)
      std::copy_n(rows.panel(p), curvature_.ends()[p] * kPanel, solver.rows.panel(p));
    kernels.gram(std::as_const(solver.rows).view(), curvature_.ends().data(), solver.factor.view());
  }
  for (size_t k = 0; k < n; ++k) solver.factor.at(k, k) += static_cast<Real>(floor_);
  return kernels.cholesky(solver.factor.view(),
                          static_cast<Real>(floor_) / 2);  // no pivot is below μ + t but by rounding
}

// step_ = -(A_CC + t I)⁻¹ y_C, as well as Real can.
template <class Real>
void GroupObs::correction(Solver<Real>& solver) {
  const size_t n = curvature_.kept_columns();
  double largest = 0;
  for (size_t k = 0; k < kept_.size(); ++k) largest = std::max(largest, std::fabs(static_cast<double>(y_[k])));
  const double scale = largest > 0 ? largest : 1;
  solver.step.assign(n, Real{0});
  for (size_t k = 0; k < kept_.size(); ++k) solver.step[k] = static_cast<Real>(-static_cast<double>(y_[k]) / scale);
  DenseKernels<Real>::get().solve(std::as_const(solver.factor).view(), solver.step.data(), solver.scratch.data());
  step_.resize(n);
  for (size_t k = 0; k < n; ++k) step_[k] = static_cast<double>(solver.step[k]) * scale;
}

// Nearest plane: with A_CC + t I = Uᵀ U the energy of the error e is ‖U e‖², and row j of U e is decided by e_j once
// the later ones are fixed. Each |(U e)_j| ends at most U_jj / 2.
template <class Real>
void GroupObs::round_along_factor(const Solver<Real>& solver) {
  std::vector<double> left(kept_.size());  // e
  for (size_t j = kept_.size(); j-- > 0;) {
    double later = 0;
    for (size_t i = j + 1; i < kept_.size(); ++i) later += static_cast<double>(solver.factor.at(j, i)) * left[i];
    const double move = std::nearbyint(step_[j] - later / static_cast<double>(solver.factor.at(j, j)));
    left[j] = move - step_[j];
    x_[j] += static_cast<int64_t>(move);
  }
}

template <class Real>
bool GroupObs::solve_with(Solver<Real>& solver, ObsOutcome& outcome) {
  if (!factorize(solver)) return false;
  const auto limit = std::ldexp(1.0, static_cast<int>(weights_.width));  // |x| of weights in range is below
  std::fill_n(x_.begin(), curvature_.kept_columns(), int64_t{0});
  Wide best = Wide::max();
  double last_step = limit;
  while (true) {
    outcome.residual = residual();
    if (outcome.residual <= bound_ && last_step <= kSettled) return true;
    if (outcome.refinements > 1 && outcome.residual + outcome.residual >= best) break;  // no more to be gained
    best = outcome.residual;
    best_ = x_;
    correction(solver);
    if (++outcome.refinements > kMaxRefinements) return false;
    last_step = 0;
    for (size_t k = 0; k < kept_.size(); ++k) {
      const double move = std::nearbyint(step_[k]);
      if (!(std::fabs(move) < limit)) return false;
      last_step = std::max(last_step, std::fabs(move));
      x_[k] += static_cast<int64_t>(move);
      if (std::fabs(static_cast<double>(x_[k])) >= limit) return false;
    }
    if (last_step == 0) break;
  }
  // Rounded as well as coordinate by coordinate can be.
  if (best < outcome.residual) {
    x_ = best_;
    outcome.residual = residual();
  }
  if (outcome.residual <= bound_) return true;
  correction(solver);
  round_along_factor(solver);
  outcome.nearest_plane = true;
  outcome.residual = residual();
  return outcome.residual <= bound_;
}

}  // namespace zkapex
