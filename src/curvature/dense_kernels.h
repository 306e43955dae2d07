// The kernels of dense.h, written once for any vector width. `Lanes` says how wide vectors are and how to multiply and
// add them; each file that includes this defines its own in an unnamed namespace, so that code compiled for one
// instruction set is never called from another.
#pragma once

#include <cmath>

#include "curvature/dense.h"

namespace zkapex::dense {

inline constexpr size_t kTileRows = 4;

// acc[r][c] (+ or -)= sum over k < count of left[k][r] right[k][c]: four columns of one panel against `Columns` vectors
// of another. Eight or more accumulators hide the latency of the multiply-add.
template <class Lanes, size_t Columns, bool Subtract>
inline void tile(const typename Lanes::Real* left, const typename Lanes::Real* right, size_t count,
                 typename Lanes::Vector (&acc)[kTileRows][Columns]) {
  for (size_t k = 0; k < count; ++k, left += kPanel, right += kPanel) {
    typename Lanes::Vector b[Columns];
    for (size_t c = 0; c < Columns; ++c) b[c] = Lanes::load(right + c * Lanes::kCount);
    for (size_t r = 0; r < kTileRows; ++r) {
      const auto a = Lanes::splat(left[r]);
      for (size_t c = 0; c < Columns; ++c)
        acc[r][c] = Subtract ? Lanes::subtract_product(acc[r][c], a, b[c]) : Lanes::add_product(acc[r][c], a, b[c]);
    }
  }
}

template <class Lanes>
struct Dense {
  using Real = typename Lanes::Real;
  using Vector = typename Lanes::Vector;
  using Matrix = PanelView<Real>;
  using ConstMatrix = PanelView<const Real>;
  static constexpr size_t kColumns = 2, kWidth = kColumns * Lanes::kCount;  // of a tile
  static_assert(kPanel % kWidth == 0 && Lanes::kCount <= kMaxLanes);

  template <class R>
  static R* panel(PanelView<R> m, size_t p) {
    return m.data + p * m.rows * kPanel;
  }

  static void gram(ConstMatrix t, const size_t* ends, Matrix out) {
    for (size_t p = 0; p < out.panels; ++p) {
      const size_t count = ends == nullptr ? t.rows : ends[p];  // columns of panel p are zero from there on
      for (size_t i = 0; i < kPanel; i += kTileRows) {
        for (size_t q = p; q < out.panels; ++q) {
          for (size_t j = 0; j < kPanel; j += kWidth) {
            Vector acc[kTileRows][kColumns] = {};
            tile<Lanes, kColumns, false>(panel(t, p) + i, panel(t, q) + j, count, acc);
            Real* to = panel(out, q) + (p * kPanel + i) * kPanel + j;
            for (size_t r = 0; r < kTileRows; ++r)
              for (size_t c = 0; c < kColumns; ++c) Lanes::store(to + r * kPanel + c * Lanes::kCount, acc[r][c]);
          }
        }
      }
    }
  }

  // Four rows of U at a time, from all rows above them: A - Σ u_k u_kᵀ, then elimination inside the four.
  static bool cholesky(Matrix a, Real least) {
    for (size_t i = 0; i < a.rows; i += kTileRows) {
      const size_t p = i / kPanel;
      Real corner[kTileRows][kTileRows], inverse[kTileRows];
      const auto strip = [&](size_t q, size_t j, bool eliminate) {
        Real* to = panel(a, q) + i * kPanel + j;
        Vector acc[kTileRows][kColumns];
        for (size_t r = 0; r < kTileRows; ++r)
          for (size_t c = 0; c < kColumns; ++c) acc[r][c] = Lanes::load(to + r * kPanel + c * Lanes::kCount);
        if (!eliminate || q != p) tile<Lanes, kColumns, true>(panel(a, p) + i % kPanel, panel(a, q) + j, i, acc);
        for (size_t r = 0; r < kTileRows; ++r) {
          for (size_t c = 0; c < kColumns; ++c) {
            if (eliminate) {
              for (size_t s = 0; s < r; ++s)
                acc[r][c] = Lanes::subtract_product(acc[r][c], Lanes::splat(corner[s][r]), acc[s][c]);
              acc[r][c] = acc[r][c] * Lanes::splat(inverse[r]);
            }
            Lanes::store(to + r * kPanel + c * Lanes::kCount, acc[r][c]);
          }
        }
      };
      // The panel with the diagonal comes first: its 4 x 4 corner eliminates all the others.
      for (size_t j = 0; j < kPanel; j += kWidth) strip(p, j, false);
      Real* rows = panel(a, p) + i * kPanel;
      for (size_t r = 0; r < kTileRows; ++r) {
        for (size_t s = r; s < kTileRows; ++s) {
          Real v = rows[r * kPanel + i % kPanel + s];
          for (size_t q = 0; q < r; ++q) v -= corner[q][r] * corner[q][s];
          if (s == r) {
            if (!(v > least)) return false;
            corner[r][r] = std::sqrt(v);
            inverse[r] = 1 / corner[r][r];
          } else {
            corner[r][s] = v * inverse[r];
          }
        }
      }
      for (size_t j = 0; j < kPanel; j += kWidth) strip(p, j, true);
      for (size_t r = 0; r < kTileRows; ++r) {  // nothing below the diagonal may grow unseen
        for (size_t c = 0; c < i % kPanel + r; ++c) rows[r * kPanel + c] = 0;
        rows[r * kPanel + i % kPanel + r] = corner[r][r];
      }
      for (size_t q = p + 1; q < a.panels; ++q)
        for (size_t j = 0; j < kPanel; j += kWidth) strip(q, j, true);
    }
    return true;
  }

  static void solve(ConstMatrix u, Real* x, Real* scratch) {
    static constexpr size_t kVectors = kPanel / Lanes::kCount;
    for (size_t p = 0; p < u.panels; ++p) {  // Uᵀ z = x
      const Real* from = panel(u, p);
      Vector acc[2][kVectors] = {};
      for (size_t k = 0; k < p * kPanel; k += 2)
        for (size_t h = 0; h < 2; ++h)
          for (size_t c = 0; c < kVectors; ++c)
            acc[h][c] = Lanes::add_product(acc[h][c], Lanes::splat(x[k + h]),
                                           Lanes::load(from + (k + h) * kPanel + c * Lanes::kCount));
      Real sums[kPanel];
      for (size_t c = 0; c < kVectors; ++c) Lanes::store(sums + c * Lanes::kCount, acc[0][c] + acc[1][c]);
      Real* z = x + p * kPanel;
      for (size_t i = 0; i < kPanel; ++i) {
        const Real* row = from + (p * kPanel + i) * kPanel;
        z[i] = (z[i] - sums[i]) / row[i];
        for (size_t j = i + 1; j < kPanel; ++j) sums[j] += row[j] * z[i];
      }
    }
    // U x = z, panels from the last: row k collects its sum over finished panels in one vector.
    for (size_t k = 0; k < u.rows * Lanes::kCount; ++k) scratch[k] = 0;
    for (size_t p = u.panels; p-- > 0;) {
      const Real* from = panel(u, p);
      Real* z = x + p * kPanel;
      for (size_t i = kPanel; i-- > 0;) {
        const size_t k = p * kPanel + i;
        const Real* row = from + k * kPanel;
        Real sum = 0;
        for (size_t l = 0; l < Lanes::kCount; ++l) sum += scratch[k * Lanes::kCount + l];
        for (size_t j = i + 1; j < kPanel; ++j) sum += row[j] * z[j];
        z[i] = (z[i] - sum) / row[i];
      }
      Vector v[kVectors];
      for (size_t c = 0; c < kVectors; ++c) v[c] = Lanes::load(z + c * Lanes::kCount);
      for (size_t k = 0; k < p * kPanel; ++k) {
        Vector sum = Lanes::load(&scratch[k * Lanes::kCount]);
        for (size_t c = 0; c < kVectors; ++c)
          sum = Lanes::add_product(sum, Lanes::load(from + k * kPanel + c * Lanes::kCount), v[c]);
        Lanes::store(&scratch[k * Lanes::kCount], sum);
      }
    }
  }

  static constexpr DenseKernels<Real> kernels() { return {&gram, &cholesky, &solve}; }
};

template <class Lanes>  // of doubles, with load_floats
struct Factor {
  using Vector = typename Lanes::Vector;
  static constexpr size_t kVectors = kPanel / Lanes::kCount;

  static const float* panel(PanelView<const float> t, size_t p) { return t.data + p * t.rows * kPanel; }

  static void multiply(PanelView<const float> t, const size_t* ends, const double* x, double* out, double* scratch) {
    for (size_t k = 0; k < t.rows * Lanes::kCount; ++k) scratch[k] = 0;
    for (size_t p = 0; p < t.panels; ++p) {
      Vector v[kVectors];
      for (size_t c = 0; c < kVectors; ++c) v[c] = Lanes::load(x + p * kPanel + c * Lanes::kCount);
      const float* from = panel(t, p);
      for (size_t k = 0; k < ends[p]; ++k) {
        Vector sum = Lanes::load(&scratch[k * Lanes::kCount]);
        for (size_t c = 0; c < kVectors; ++c)
          sum = Lanes::add_product(sum, Lanes::load_floats(from + k * kPanel + c * Lanes::kCount), v[c]);
        Lanes::store(&scratch[k * Lanes::kCount], sum);
      }
    }
    for (size_t k = 0; k < t.rows; ++k) {
      out[k] = 0;
      for (size_t l = 0; l < Lanes::kCount; ++l) out[k] += scratch[k * Lanes::kCount + l];
    }
  }

  static void multiply_transposed(PanelView<const float> t, const size_t* ends, const double* x, double* out) {
    for (size_t p = 0; p < t.panels; ++p) {
      Vector acc[kVectors] = {};
      const float* from = panel(t, p);
      for (size_t k = 0; k < ends[p]; ++k)
        for (size_t c = 0; c < kVectors; ++c)
          acc[c] =
              Lanes::add_product(acc[c], Lanes::splat(x[k]), Lanes::load_floats(from + k * kPanel + c * Lanes::kCount));
      for (size_t c = 0; c < kVectors; ++c) Lanes::store(out + p * kPanel + c * Lanes::kCount, acc[c]);
    }
  }

  static constexpr FactorKernels kernels() { return {&multiply, &multiply_transposed}; }
};

}  // namespace zkapex::dense
