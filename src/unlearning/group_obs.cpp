#include "unlearning/group_obs.h"

#include <algorithm>
#include <cmath>

#include "curvature/factor.h"

namespace zkapex {

namespace {

constexpr unsigned kMaxRefinements = 40, kMaxByStoredFactor = 8;

// After a step of no more than this the error that is left is rounding, not the solver's: each step shrinks it by far
// more.
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
  curvature_.load(factor, theta.size());
  const size_t n = curvature_.columns();
  kept_.clear();
  move_.assign(n, 0);
  first_y_.assign(n, 0);
  for (uint32_t k = 0, m = 0; k < theta.size(); ++k) {
    if (m < masked.size() && masked[m] == k) {
      move_[k] = -theta[k];
      ++m;
    } else {
      kept_.push_back(k);
      if (guided) first_y_[k] = -static_cast<int128>(pull_) * guide[k];
    }
  }
  curvature_.add(move_, first_y_);
  begin();
  if (!kept_.empty() && !solve_by_stored_factor(masked, outcome) && !solve_with(single_, outcome)) {
    outcome.double_precision = true;
    if (!solve_with(double_, outcome))
      return error(
          "no rounding meets the error bound: the block's curvature is too ill-conditioned for it; raise the "
          "error, the fraction bits, or the damping");
  }

  for (const uint32_t k : kept_) {
    out[k] += x_[k];
    if (!weights_.contains(out[k])) return error("weight {} of the block would leave its {} bits", k, weights_.width);
    outcome.moved += static_cast<uint128>(static_cast<int128>(x_[k]) * x_[k]);
    if (!guide.empty()) outcome.followed += static_cast<int128>(guide[k]) * x_[k];
  }
  for (const uint32_t k : masked) {
    outcome.removed += static_cast<uint128>(static_cast<int128>(theta[k]) * theta[k]);
    out[k] = 0;
  }
  return outcome;
}

// x_ = −θ_M, and its y_.
void GroupObs::begin() {
  x_.assign(curvature_.columns(), 0);
  y_ = first_y_;
}

// x_ gains move_, which is zero on the mask, and y_ what it gains by that.
void GroupObs::move() {
  for (const uint32_t k : kept_) x_[k] += move_[k];
  curvature_.add(move_, y_);
}

// Σ_C y².
Wide GroupObs::residual() const {
  uint128 largest = 0;
  for (const uint32_t k : kept_) largest |= static_cast<uint128>(y_[k] < 0 ? ~y_[k] : y_[k]);
  if (largest >> 58 == 0) {  // squares below 2^118, at most 1024 of them
    uint128 sum = 0;
    for (const uint32_t k : kept_) sum += static_cast<uint128>(y_[k] * y_[k]);
    return Wide::from(sum);
  }
  Wide sum;
  for (const uint32_t k : kept_) sum += Wide::square_of(y_[k]);
  return sum;
}

template <class Correct>
GroupObs::Refined GroupObs::refine(unsigned most, const Correct& correct, ObsOutcome& outcome) {
  const auto limit = std::ldexp(1.0, static_cast<int>(weights_.width));  // |x| of weights in range is below
  begin();
  outcome.refinements = 0;
  outcome.nearest_plane = false;
  Wide best = Wide::max();
  double last_step = limit, step_before = limit;
  while (true) {
    outcome.residual = residual();
    // Steps shrink by the same factor again and again: is the next one less than a unit?
    const bool settled = last_step <= kSettled || (outcome.refinements > 1 && last_step * last_step < step_before / 2);
    if (outcome.residual <= bound_ && settled) return Refined::kMet;
    if (outcome.refinements > 1 && outcome.residual + outcome.residual >= best) break;  // no more to be gained
    best = outcome.residual;
    best_ = x_;
    best_y_ = y_;
    correct();
    if (++outcome.refinements > most) return Refined::kFailed;
    step_before = last_step;
    last_step = 0;
    std::ranges::fill(move_, 0);
    for (const uint32_t k : kept_) {
      const double move = std::nearbyint(step_[k]);
      if (!(std::fabs(move) < limit)) return Refined::kFailed;
      last_step = std::max(last_step, std::fabs(move));
      move_[k] = static_cast<int64_t>(move);
      if (std::fabs(static_cast<double>(x_[k] + move_[k])) >= limit) return Refined::kFailed;
    }
    if (last_step == 0) break;
    move();
  }
  // Rounded as well as coordinate by coordinate can be.
  if (best < outcome.residual) {
    std::swap(x_, best_);
    std::swap(y_, best_y_);
    outcome.residual = best;
  }
  return outcome.residual <= bound_ ? Refined::kMet : Refined::kRounded;
}

bool GroupObs::solve_by_stored_factor(std::span<const uint32_t> masked, ObsOutcome& outcome) {
  if (!stored_.prepare(curvature_, masked)) return false;
  const auto correct = [&] { stored_.solve(y_, step_); };
  outcome.stored_factor = refine(kMaxByStoredFactor, correct, outcome) == Refined::kMet;
  return outcome.stored_factor;
}

// What of `upper` the kept coordinates have: of each of them a column, without gaps.
template <class Real>
void GroupObs::gather_kept(PanelMatrix<Real>& rows) {
  const PanelMatrix<float>& upper = curvature_.upper();
  rows.reshape(upper.rows(), kept_.size());
  ends_.clear();
  for (size_t p = 0; p < rows.panels(); ++p) {
    const auto columns = std::span(kept_).subspan(p * kPanel, std::min(kPanel, kept_.size() - p * kPanel));
    const auto end_of = [](uint32_t column) { return (column / kPanel + 1) * kPanel; };
    const size_t end = end_of(columns.back());
    ends_.push_back(end);
    Real* to = rows.panel(p);
    if (columns.front() + kPanel == end && columns.size() == kPanel) {  // a whole panel
      std::copy_n(upper.panel(columns.front() / kPanel), end * kPanel, to);
      continue;
    }
    std::fill_n(to, end * kPanel, Real{0});
    for (size_t c = 0; c < columns.size(); ++c) {
      const float* from = upper.panel(columns[c] / kPanel) + columns[c] % kPanel;
      for (size_t k = 0; k < end_of(columns[c]); ++k) to[k * kPanel + c] = from[k * kPanel];
    }
  }
}

template <class Real>
bool GroupObs::factorize(Solver<Real>& solver) {
  gather_kept(solver.rows);
  const PanelView<const Real> rows = std::as_const(solver.rows).view();
  const size_t n = rows.panels * kPanel;
  solver.factor.reshape(n, n);
  solver.scratch.resize(n * kMaxLanes);
  const auto& kernels = DenseKernels<Real>::get();
  if constexpr (std::is_same_v<Real, float>) {
    if (curvature_.bytes()) {
      packed_.resize((rows.rows + 3) / 4 * rows.panels);
      FactorKernels::get().gram(rows, ends_.data(), solver.factor.view(), packed_.data()->bytes);
    } else {
      kernels.gram(rows, ends_.data(), solver.factor.view());
    }
  } else {
    kernels.gram(rows, ends_.data(), solver.factor.view());
  }
  for (size_t k = 0; k < n; ++k) solver.factor.at(k, k) += static_cast<Real>(floor_);
  return kernels.cholesky(solver.factor.view(),
                          static_cast<Real>(floor_) / 2);  // no pivot is below μ + t but by rounding
}

// step_ = -(A_CC + t I)⁻¹ y_C, as well as Real can.
template <class Real>
void GroupObs::correction(Solver<Real>& solver) {
  double largest = 0;
  for (const uint32_t k : kept_) largest = std::max(largest, std::fabs(static_cast<double>(y_[k])));
  const double scale = largest > 0 ? largest : 1;
  solver.step.assign(solver.factor.rows(), Real{0});
  for (size_t c = 0; c < kept_.size(); ++c)
    solver.step[c] = static_cast<Real>(-static_cast<double>(y_[kept_[c]]) / scale);
  DenseKernels<Real>::get().solve(std::as_const(solver.factor).view(), solver.step.data(), solver.scratch.data());
  step_.assign(curvature_.columns(), 0);
  for (size_t c = 0; c < kept_.size(); ++c) step_[kept_[c]] = static_cast<double>(solver.step[c]) * scale;
}

// Nearest plane: with A_CC + t I = Uᵀ U the energy of the error e is ‖U e‖², and row j of U e is decided by e_j once
// the later ones are fixed. Each |(U e)_j| ends at most U_jj / 2.
template <class Real>
void GroupObs::round_along_factor(const Solver<Real>& solver) {
  std::vector<double> left(kept_.size());  // e
  std::ranges::fill(move_, 0);
  for (size_t c = kept_.size(); c-- > 0;) {
    const uint32_t j = kept_[c];
    double later = 0;
    for (size_t i = c + 1; i < left.size(); ++i) later += static_cast<double>(solver.factor.at(c, i)) * left[i];
    const double move = std::nearbyint(step_[j] - later / static_cast<double>(solver.factor.at(c, c)));
    left[c] = move - step_[j];
    move_[j] = static_cast<int64_t>(move);
  }
}

template <class Real>
bool GroupObs::solve_with(Solver<Real>& solver, ObsOutcome& outcome) {
  if (!factorize(solver)) return false;
  const Refined refined = refine(
      kMaxRefinements, [&] { correction(solver); }, outcome);
  if (refined != Refined::kRounded) return refined == Refined::kMet;
  correction(solver);
  round_along_factor(solver);
  move();
  outcome.nearest_plane = true;
  outcome.residual = residual();
  return outcome.residual <= bound_;
}

}  // namespace zkapex
