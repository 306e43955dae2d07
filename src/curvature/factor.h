// From a Fisher block to its integer factor: L = round(chol(s C - μ I)), C = F + λ I, s a private positive scale.
// The rounded matrix A = L Lᵀ + μ I *is* the curvature from then on, positive definite by construction.
#pragma once

#include <span>
#include <vector>

#include "base/result.h"
#include "curvature/dense.h"

namespace zkapex {

// Lower triangle of B rows, row after row: L[j][l] at j (j + 1) / 2 + l, l <= j.
[[nodiscard]] constexpr size_t triangle_size(size_t block) { return block * (block + 1) / 2; }

struct Damping {
  enum class Kind { kAbsolute, kRelative };
  Kind kind = Kind::kRelative;
  double value = 0.2;  // λ itself, or the fraction of the block's mean diagonal that λ is

  Status check() const;
};

struct FactorSettings {
  size_t block = 256;  // B
  unsigned bits = 8;   // c
  uint64_t floor = 4;  // μ
  Damping damping;

  [[nodiscard]] int largest() const { return (1 << (bits - 1)) - 1; }  // |entry| after rounding
  Status check() const;
};

// What became of one block. `damping` is what A has in effect, in units of F: more than was asked for where c bits
// cannot resolve it above the floor μ (then raising c, or lowering μ, helps).
struct FactorStatistics {
  double scale = 0;              // s
  double requested_damping = 0;  // λ
  double damping = 0;            // what A has of it
  double condition = 0;          // of s C as factored, estimated by power iteration: a lower bound, mostly close
  bool raised = false;           // damping > requested
  bool zero = false;             // F = 0: nothing is known, L = 0 and the operator only masks
  bool rank_deficient = false;   // fewer samples than coordinates: damping alone decides the rest
};

// Makes factors one after another in the same buffers; one object per thread.
class FactorMaker {
 public:
  explicit FactorMaker(const FactorSettings& settings);

  // F given as m x size per-sample gradients, row-major: F = (1/m) Σ g gᵀ. size <= B; what is missing to B is padding,
  // where L is zero. The factor goes to `out`, of triangle_size(B) entries.
  Result<FactorStatistics> from_gradients(std::span<const double> gradients, size_t size, std::span<int16_t> out);
  // F given as a size x size symmetric matrix, row-major (its lower triangle is read).
  Result<FactorStatistics> from_matrix(std::span<const double> fisher, size_t size, std::span<int16_t> out);

 private:
  Result<FactorStatistics> factor(size_t size, size_t samples, std::span<int16_t> out);
  [[nodiscard]] bool choose_scale(size_t size, double largest, FactorStatistics& stats);
  [[nodiscard]] bool attempt(size_t size, double scale, double largest, FactorStatistics& stats);
  [[nodiscard]] double room() const { return settings_.largest() + 0.49; }  // |entry| before rounding
  [[nodiscard]] bool try_scale(size_t size, double scale, double shift);
  [[nodiscard]] double largest_entry(size_t size) const;
  [[nodiscard]] double condition(size_t size);

  FactorSettings settings_;
  PanelMatrix<double> samples_, fisher_, factor_;
  std::vector<double> vector_, image_, scratch_;
};

}  // namespace zkapex
