#include "curvature/factor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace zkapex {

namespace {

// s C - μ I = s F + (s λ - μ) I. Below this the last term no longer keeps the matrix safely positive; what is lost by
// raising it is far below the rounding of L, which is half a unit.
constexpr double kLeastShift = 0x1p-6;

// Beyond this, and below its inverse, scaling would overflow; no gradient is there.
constexpr double kHuge = 1e280;

}  // namespace

Status Damping::check() const {
  if (!(value >= 0) || !std::isfinite(value)) return error("a damping of {} is not a number from zero up", value);
  return Done{};
}

Status FactorSettings::check() const {
  if (block < 1 || block > 1024) return error("blocks of {} are outside 1 to 1024", block);
  if (bits < 2 || bits > 16) return error("{} curvature bits are outside 2 to 16", bits);
  if (floor < 1) return error("the curvature floor must be at least 1");
  return damping.check();
}

FactorMaker::FactorMaker(const FactorSettings& settings) : settings_(settings) {}

Result<FactorStatistics> FactorMaker::from_gradients(std::span<const double> gradients, size_t size,
                                                     std::span<int16_t> out) {
  if (size == 0 || gradients.empty() || gradients.size() % size != 0)
    return error("{} gradient values are not whole samples of {}", gradients.size(), size);
  const size_t samples = gradients.size() / size;
  // In pieces: a Gram matrix adds up over rows, and the buffer stays small whatever the number of samples.
  constexpr size_t kRows = 256;
  const size_t padded = panels_for(size) * kPanel;
  fisher_.resize(padded, padded);
  for (size_t first = 0; first < samples; first += kRows) {
    const size_t rows = std::min(kRows, samples - first);
    samples_.resize(rows, size);
    for (size_t k = 0; k < rows; ++k)
      for (size_t i = 0; i < size; ++i) samples_.at(k, i) = gradients[(first + k) * size + i];
    factor_.reshape(padded, padded);
    DenseKernels<double>::get().gram(std::as_const(samples_).view(), nullptr, factor_.view());
    for (size_t p = 0; p < fisher_.panels(); ++p)
      for (size_t k = 0; k < (p + 1) * kPanel * kPanel; ++k)
        fisher_.panel(p)[k] += factor_.panel(p)[k] / static_cast<double>(samples);
  }
  return factor(size, samples, out);
}

Result<FactorStatistics> FactorMaker::from_matrix(std::span<const double> fisher, size_t size, std::span<int16_t> out) {
  if (size == 0 || fisher.size() != size * size) return error("{} values are not a matrix of {}", fisher.size(), size);
  const size_t padded = panels_for(size) * kPanel;
  fisher_.resize(padded, padded);
  for (size_t i = 0; i < size; ++i)
    for (size_t j = i; j < size; ++j) fisher_.at(i, j) = fisher[j * size + i];
  return factor(size, std::numeric_limits<size_t>::max(), out);
}

// factor_ = U with Uᵀ U = scale F + shift I; so L = Uᵀ. Padding gets a diagonal of one.
bool FactorMaker::try_scale(size_t size, double scale, double shift) {
  factor_.reshape(fisher_.rows(), fisher_.rows());
  for (size_t p = 0; p < factor_.panels(); ++p) {
    const double* from = fisher_.panel(p);
    double* to = factor_.panel(p);
    for (size_t k = 0; k < (p + 1) * kPanel * kPanel; ++k) to[k] = scale * from[k];
  }
  for (size_t i = 0; i < factor_.rows(); ++i) factor_.at(i, i) = i < size ? factor_.at(i, i) + shift : 1;
  return DenseKernels<double>::get().cholesky(factor_.view(), 0);
}

// Rows of U below `size` only: they are zero in the columns of the padding, and below the diagonal.
double FactorMaker::largest_entry(size_t size) const {
  double largest = 0;
  for (size_t p = 0; p < factor_.panels(); ++p)
    for (size_t k = 0; k < std::min(size, (p + 1) * kPanel) * kPanel; ++k)
      largest = std::max(largest, std::fabs(factor_.panel(p)[k]));
  return largest;
}

// factor_ = U for this scale. A Fisher matrix has no negative eigenvalue but by rounding: a little more damping is all
// it can lack. False when even that does not help, or an entry leaves c bits.
bool FactorMaker::attempt(size_t size, double scale, double largest, FactorStatistics& stats) {
  const auto floor = static_cast<double>(settings_.floor);
  const double least = std::max(scale * stats.requested_damping - floor, kLeastShift);
  double shift = least;
  while (!try_scale(size, scale, shift)) {
    shift *= 4;
    if (shift > 1e-3 * scale * largest) return false;
  }
  stats.scale = scale;
  stats.damping = (shift + floor) / scale;
  return largest_entry(size) <= room();
}

// The largest scale that c bits hold, nearly. Row j of L has the square norm of diagonal entry j, so with a safe scale
// no entry leaves c bits while the shift stays below the reserve. But rows spread their norm over many entries, so
// there is room for more: aim at the largest entry, and check.
bool FactorMaker::choose_scale(size_t size, double largest, FactorStatistics& stats) {
  const double most = room() * room();
  const auto safe = [&](double reserve) { return (most - reserve) / (largest + stats.requested_damping); };
  double reserve = kLeastShift;
  while (!attempt(size, safe(reserve), largest, stats)) {
    reserve *= 8;
    if (reserve > most / 2) return false;
  }
  const double fallback = stats.scale;
  for (int round = 0; round < 3; ++round) {
    const double entry = largest_entry(size);
    if (entry > 0.95 * settings_.largest()) break;
    const double gain = room() / entry;
    if (!attempt(size, 0.999 * stats.scale * gain * gain, largest, stats))
      return attempt(size, fallback, largest, stats);
  }
  return true;
}

Result<FactorStatistics> FactorMaker::factor(size_t size, size_t samples, std::span<int16_t> out) {
  if (size > settings_.block || out.size() != triangle_size(settings_.block))
    return error("a block of {} does not fit blocks of {}", size, settings_.block);
  std::fill(out.begin(), out.end(), int16_t{0});
  double sum = 0, largest = 0;
  for (size_t i = 0; i < size; ++i) {
    for (size_t j = i; j < size; ++j)
      if (!(std::fabs(fisher_.at(i, j)) < kHuge))
        return error("entry ({}, {}) of the Fisher block is not finite", j, i);
    if (fisher_.at(i, i) < 0) return error("diagonal entry {} of the Fisher block is negative", i);
    sum += fisher_.at(i, i);
    largest = std::max(largest, fisher_.at(i, i));
  }
  FactorStatistics stats;
  stats.rank_deficient = samples < size;
  const bool relative = settings_.damping.kind == Damping::Kind::kRelative;
  stats.requested_damping = settings_.damping.value * (relative ? sum / static_cast<double>(size) : 1.0);
  if (largest < 1 / kHuge) {
    stats.zero = true;
    stats.damping = stats.requested_damping;
    stats.condition = 1;
    return stats;
  }
  if (!choose_scale(size, largest, stats))
    return error("the Fisher block is not positive semidefinite, or {} bits cannot hold it above a floor of {}",
                 settings_.bits, settings_.floor);
  stats.raised = stats.damping > stats.requested_damping * (1 + 1e-9);
  for (size_t j = 0; j < size; ++j)
    for (size_t l = 0; l <= j; ++l) out[triangle_size(j) + l] = static_cast<int16_t>(std::lrint(factor_.at(l, j)));
  stats.condition = condition(size);
  return stats;
}

// Largest and smallest eigenvalue of Uᵀ U by a few steps of power iteration, with U and with its inverse.
double FactorMaker::condition(size_t size) {
  const auto floor = static_cast<double>(settings_.floor);
  constexpr int kSteps = 4;
  const size_t n = factor_.rows();
  scratch_.resize(n * kPanel);
  image_.resize(n);
  static_assert(kPanel >= kMaxLanes);
  const auto normalize = [&] {
    double norm = 0;
    for (size_t i = 0; i < size; ++i) norm += vector_[i] * vector_[i];
    norm = std::sqrt(norm);
    for (double& v : vector_) v /= norm;
    return norm;
  };
  const auto iterate = [&](auto step) {
    vector_.assign(n, 0);
    for (size_t i = 0; i < size; ++i) vector_[i] = 1 + 0.5 * std::sin(static_cast<double>(i) + 1);
    normalize();
    double eigenvalue = 0;
    for (int k = 0; k < kSteps; ++k) {
      step();
      eigenvalue = normalize();
    }
    return eigenvalue;
  };
  const double largest = iterate([&] {
    std::fill(scratch_.begin(), scratch_.end(),
              0);  // row k collects U v in sixteen sums, so that they run side by side
    for (size_t p = 0; p < factor_.panels(); ++p) {
      const double *panel = factor_.panel(p), *v = &vector_[p * kPanel];
      for (size_t k = 0; k < (p + 1) * kPanel; ++k)
        for (size_t c = 0; c < kPanel; ++c) scratch_[k * kPanel + c] += panel[k * kPanel + c] * v[c];
    }
    for (size_t k = 0; k < n; ++k)
      image_[k] = std::accumulate(&scratch_[k * kPanel], &scratch_[k * kPanel] + kPanel, 0.0);
    for (size_t p = 0; p < factor_.panels(); ++p) {
      const double* panel = factor_.panel(p);
      double sums[kPanel] = {};
      for (size_t k = 0; k < (p + 1) * kPanel; ++k)
        for (size_t c = 0; c < kPanel; ++c) sums[c] += panel[k * kPanel + c] * image_[k];
      std::copy_n(sums, kPanel, &vector_[p * kPanel]);
    }
  });
  const double inverse = iterate(
      [&] { DenseKernels<double>::get().solve(std::as_const(factor_).view(), vector_.data(), scratch_.data()); });
  return (largest + floor) / (1 / inverse + floor);
}

}  // namespace zkapex
