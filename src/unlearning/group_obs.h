// Group-OBS on one block: weights in the mask become zero, the others move to where the curvature's quadratic is least.
//
//   x_M = -θ_M,   (A x)_C = 0   i.e.   x_C = -A_CC⁻¹ A_CM x_M,   θ_u = θ_p + x
//
// With a guide Δ, zero on the mask, and a pull t the others are drawn towards it, where the curvature lets them:
//
//   x_M = -θ_M,   (A_CC + t I) x_C = A_CM θ_M + t Δ_C
//
// Solved by the stored factor where few weights are masked and the pull is small (factor_steps.h), or with a Cholesky
// factor of A_CC + t I in float, or in double where that is not enough; refined with residuals y = A x + t (x − Δ) that
// are exact integers, and rounded so that Σ_C y² <= Y_blk holds exactly.
#pragma once

#include <span>
#include <vector>

#include "unlearning/deployment.h"
#include "unlearning/factor_steps.h"

namespace zkapex {

struct ObsOutcome {
  Wide residual;               // Σ_{i ∉ M} y_i²
  uint128 moved = 0;           // Σ_{i ∉ M} x_i²
  uint128 removed = 0;         // Σ_{i ∈ M} x_i²
  int128 followed = 0;         // Σ Δ_i x_i
  uint128 guide = 0;           // Σ Δ_i²
  bool stored_factor = false;  // solved by that
  bool double_precision = false;
  bool nearest_plane = false;  // rounded along the factor, where rounding each coordinate was not enough
  unsigned refinements = 0;
};

// Works on one block after another in the same buffers; one object per thread.
class GroupObs {
 public:
  explicit GroupObs(const Deployment& deployment, uint64_t pull = 0);

  struct Block {
    std::span<const int64_t> theta;    // its weights, at most B
    std::span<const uint32_t> masked;  // increasing positions in it
    std::span<const int64_t> guide;    // Δ of each weight; empty stands for zeros
  };
  // `factor`: the block's packed factor. An error when the weights leave their bits, or when no rounding found meets
  // the bound: never a worse answer.
  Result<ObsOutcome> solve(std::span<const int8_t> factor, const Block& block, std::span<int64_t> out);
  Result<ObsOutcome> solve(std::span<const int16_t> factor, const Block& block, std::span<int64_t> out);

 private:
  template <class Real>
  struct Solver {
    PanelMatrix<Real> rows, factor;  // of A_CC + t I, which has a column for each of C, and padding
    std::vector<Real> step, scratch;
  };
  // What became of a refinement: the bound is met; it is not, though only rounding is left; or there was no getting
  // there.
  enum class Refined { kMet, kRounded, kFailed };
  template <class Entry>
  Result<ObsOutcome> solve_entries(std::span<const Entry> factor, const Block& block, std::span<int64_t> out);
  [[nodiscard]] Status check(const Block& block) const;
  bool solve_by_stored_factor(std::span<const uint32_t> masked, ObsOutcome& outcome);
  template <class Real>
  bool solve_with(Solver<Real>& solver, ObsOutcome& outcome);
  template <class Real>
  void gather_kept(PanelMatrix<Real>& rows);
  template <class Real>
  bool factorize(Solver<Real>& solver);
  template <class Real>
  void correction(Solver<Real>& solver);
  // Corrects x_ by steps, which `correct` puts into step_, until only rounding is left.
  template <class Correct>
  Refined refine(unsigned most, const Correct& correct, ObsOutcome& outcome);
  template <class Real>
  void round_along_factor(const Solver<Real>& solver);
  void begin();
  void move();
  [[nodiscard]] Wide residual() const;

  FixedPoint weights_;
  uint64_t pull_, floor_;  // t, μ + t
  Wide bound_;
  size_t block_;
  ExactCurvature curvature_;
  struct alignas(64) CacheLine {
    uint8_t bytes[64];
  };
  std::vector<CacheLine> packed_;  // what the Gram matrix is made of, as bytes
  Solver<float> single_;
  Solver<double> double_;
  FactorSteps stored_;
  std::vector<uint32_t> kept_;                // C
  std::vector<size_t> ends_;                  // where panels of their columns end
  std::vector<int64_t> x_, move_;             // by coordinate: x, and what it gains
  std::vector<int64_t> best_;                 // the x before, and
  std::vector<int128> y_, first_y_, best_y_;  // y of x, of x = −θ_M, and of that before
  std::vector<double> step_;                  // the real-valued correction of x_C
};

}  // namespace zkapex
