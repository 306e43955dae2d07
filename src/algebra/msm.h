// Multi-scalar multiplication Σ s_k P_k by buckets (Pippenger), in variable time: scalars are not protected from an
// observer of this machine's clock or caches.
#pragma once

#include <span>
#include <vector>

#include "algebra/group_kernels.h"
#include "algebra/point.h"
#include "algebra/scalar.h"
#include "base/result.h"
#include "base/threads.h"
#include "base/unset_vector.h"

namespace zkapex {

// Σ_k weight · scalars[k] · points[k]
struct WeightedPoints {
  std::span<const AffinePoint> points;
  std::span<const Scalar> scalars;
  Scalar weight = Scalar::one();
};

// The sum of all of these; an error if one has not as many scalars as points. The empty sum is the identity. Points are
// made ready piece by piece: what is in memory does not grow with their number, but for buckets, 4 MiB a thread at
// most.
[[nodiscard]] Result<Point> msm_var(std::span<const WeightedPoints> terms, ThreadPool& pool,
                                    const GroupKernels& kernels = group_kernels());
[[nodiscard]] Result<Point> msm_var(std::span<const Scalar> scalars, std::span<const AffinePoint> points,
                                    ThreadPool& pool, const GroupKernels& kernels = group_kernels());

// What these hold in memory beside points and scalars.
[[nodiscard]] uint64_t msm_bytes(size_t points, unsigned threads);

// Points made ready once for many sums of integers, 128 bytes each. Tied to the kernels that made it.
class PreparedPoints {
 public:
  PreparedPoints(std::span<const AffinePoint> points, ThreadPool& pool, const GroupKernels& kernels = group_kernels());

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] const GroupKernels& kernels() const { return *kernels_; }
  // At least kPadding more entries than size(), which may be read but mean nothing.
  [[nodiscard]] const TableEntry* entries() const { return entries_.data(); }

  static constexpr size_t kPadding = 64;

 private:
  const GroupKernels* kernels_;
  size_t size_;
  UnsetVector<TableEntry> entries_;
};

// The same for integers; the time grows with the bits of the largest.
[[nodiscard]] Result<Point> msm_small_var(std::span<const int64_t> values, const PreparedPoints& points,
                                          ThreadPool& pool);
[[nodiscard]] Result<Point> msm_small_var(std::span<const int64_t> values, std::span<const AffinePoint> points,
                                          ThreadPool& pool, const GroupKernels& kernels = group_kernels());
// One sum for each row of as many values as there are points.
[[nodiscard]] Result<std::vector<Point>> msm_rows_var(std::span<const int64_t> values, const PreparedPoints& points,
                                                      ThreadPool& pool);

// Σ_t weights[t]·points[j + t · stride] for every j < stride, where points beyond the last count as the identity: how a
// list of generators folds.
[[nodiscard]] std::vector<Point> fold_points_var(std::span<const AffinePoint> points, std::span<const Scalar> weights,
                                                 size_t stride, ThreadPool& pool,
                                                 const GroupKernels& kernels = group_kernels());

}  // namespace zkapex
