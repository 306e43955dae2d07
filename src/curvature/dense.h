// Dense kernels for one block: Gram matrix, Cholesky factor, triangular solves, and products with an integer factor.
// Plain, AVX2 and AVX-512 versions; the last two agree, the first may differ in the last bits, except where said to be
// exact.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "base/cpu.h"

namespace zkapex {

// Matrices are cut into panels of 16 columns, each stored row after row: every inner loop reads memory in order.
inline constexpr size_t kPanel = 16;
inline constexpr size_t kMaxLanes = 8;  // numbers in the widest vector of any kernel
[[nodiscard]] constexpr size_t panels_for(size_t columns) { return (columns + kPanel - 1) / kPanel; }

// What kernels see of a matrix. It has no functions, so that none compiled for one instruction set is shared.
template <class Real>
struct PanelView {
  Real* data;
  size_t rows, panels;
};

template <class Real>
class PanelMatrix {
 public:
  PanelMatrix() = default;
  PanelMatrix(size_t rows, size_t columns) { resize(rows, columns); }
  // Columns are rounded up to whole panels. After a resize all is zero, after a reshape undefined.
  void resize(size_t rows, size_t columns) {
    reshape(rows, columns);
    std::fill(values_.begin(), values_.end(), Real{0});
  }
  void reshape(size_t rows, size_t columns) {
    rows_ = rows;
    panels_ = panels_for(columns);
    values_.resize(rows_ * panels_ * kPanel);
  }
  PanelView<Real> view() { return {values_.data(), rows_, panels_}; }
  [[nodiscard]] PanelView<const Real> view() const { return {values_.data(), rows_, panels_}; }
  [[nodiscard]] size_t rows() const { return rows_; }
  [[nodiscard]] size_t panels() const { return panels_; }
  Real* panel(size_t p) { return values_.data() + p * rows_ * kPanel; }
  [[nodiscard]] const Real* panel(size_t p) const { return values_.data() + p * rows_ * kPanel; }
  Real& at(size_t row, size_t column) { return panel(column / kPanel)[row * kPanel + column % kPanel]; }
  [[nodiscard]] Real at(size_t row, size_t column) const {
    return panel(column / kPanel)[row * kPanel + column % kPanel];
  }

 private:
  size_t rows_ = 0, panels_ = 0;
  std::vector<Real> values_;
};

// A symmetric matrix, or a factor U of it with A = Uᵀ U, is a square PanelMatrix of which the upper triangle counts.
// Its size is a multiple of kPanel; callers pad it with a positive diagonal, which leaves the rest untouched.
template <class Real>  // float or double
struct DenseKernels {
  // out = the upper triangle of tᵀ t over the first out.panels panels of t. Rows of t from ends[p] on are zero in
  // panel p (ends increasing), and skipped; null: all rows count. Zeroes nothing else of `out`.
  void (*gram)(PanelView<const Real> t, const size_t* ends, PanelView<Real> out);
  // Upper triangle in place, A to U. False, with A spoilt, at a pivot that is not above `least`.
  bool (*cholesky)(PanelView<Real> a, Real least);
  // x, of u.rows numbers, becomes U⁻¹ U⁻ᵀ x. `scratch` has room for kMaxLanes numbers per row.
  void (*solve)(PanelView<const Real> u, Real* x, Real* scratch);

  static const DenseKernels& get(InstructionSet set = instruction_set());
};

// Of a triangle of integers L, packed row after row (factor.h), two arrangements as floats: upper[k][i] = lower[i][k] =
// L[i][k]. Both are square, of L's rows rounded up to whole panels, with a diagonal of one where L has ended. Rows of a
// panel of `upper` below its diagonal block, and above it of one of `lower`, are undefined and never read.
struct FactorKernels {
  void (*arrange)(const int8_t* factor, size_t rows, PanelView<float> upper, PanelView<float> lower);

  // Lᵀ x and L x in double: exact when no partial sum reaches 2^53. A number for every column.
  void (*multiply_transposed)(PanelView<const float> lower, const double* x, double* out);
  void (*multiply)(PanelView<const float> upper, const double* x, double* out);
  // gram of DenseKernels, exactly, for at most 1024 rows of entries from -128 to 127. `scratch` has room for t's
  // panels, a byte an entry, with rows rounded up to a multiple of four, from an address that is a multiple of 64 on.
  void (*gram)(PanelView<const float> t, const size_t* ends, PanelView<float> out, uint8_t* scratch);

  static const FactorKernels& get(InstructionSet set = instruction_set());
};

// Both arrangements, for entries of any width.
template <class Entry>
void arrange_factor(const Entry* factor, size_t rows, PanelView<float> upper, PanelView<float> lower) {
  const size_t padded = upper.panels * kPanel;
  const auto set = [&](size_t i, size_t k, float v) {
    upper.data[(i / kPanel * padded + k) * kPanel + i % kPanel] = v;
    lower.data[(k / kPanel * padded + i) * kPanel + k % kPanel] = v;
  };
  for (size_t i = 0; i < padded; ++i) {
    const Entry* row = factor + i * (i + 1) / 2;
    for (size_t k = 0; k < (i / kPanel + 1) * kPanel; ++k)
      set(i, k, i < rows && k <= i ? static_cast<float>(row[k]) : i >= rows && k == i ? 1.0F : 0.0F);
  }
}

// Solves with such a triangle by its arrangements. Sums are taken in one order, whatever the width of vectors, so paths
// with a fused multiply-add agree to the last bit.
struct TriangleKernels {
  static constexpr size_t kInverse = 2 * kPanel * kPanel;  // numbers for each panel

  // Of each diagonal block its inverse, and that transposed: what solves take for `inverses`.
  void (*invert_blocks)(PanelView<const float> upper, float* inverses);
  // x becomes L⁻¹ x, where x is zero before panel `first`.
  void (*solve)(PanelView<const float> upper, const float* inverses, size_t first, float* x);
  // The same for kPanel right sides, whose numbers stand side by side.
  void (*solve_many)(PanelView<const float> upper, const float* inverses, size_t first, float* x);
  // x becomes L⁻ᵀ x.
  void (*solve_transposed)(PanelView<const float> lower, const float* inverses, float* x);

  static const TriangleKernels& get(InstructionSet set = instruction_set());
};

}  // namespace zkapex
