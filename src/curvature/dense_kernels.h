// The kernels of dense.h, written once for any vector width. `Lanes` says how wide vectors are and how to multiply and
// add them; each file that includes this defines its own in an unnamed namespace, so that code compiled for one
// instruction set is never called from another.
#pragma once

#include <cmath>
#include <type_traits>

#include "curvature/dense.h"

namespace zkapex::dense {

inline constexpr size_t kTileRows = 4;

// acc[r][c] (+ or -)= sum over k < count of left[k][r] right[k][c]: four columns of one panel against `Columns`
// vectors, `stride` apart. Eight or more accumulators hide the latency of the multiply-add. Every sum is taken in the
// order of k, so paths with a fused multiply-add agree to the last bit.
template <class Lanes, size_t Columns, bool Subtract>
inline void tile(const typename Lanes::Real* left, const typename Lanes::Real* right, size_t stride, size_t count,
                 typename Lanes::Vector (&acc)[kTileRows][Columns]) {
  for (size_t k = 0; k < count; ++k, left += kPanel, right += kPanel) {
    typename Lanes::Vector b[Columns];
    for (size_t c = 0; c < Columns; ++c) b[c] = Lanes::load(right + c * stride);
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
  static constexpr bool kWholePanels = Lanes::kCount == kPanel;  // a vector is a row of a panel

  template <class R>
  static R* panel(PanelView<R> m, size_t p) {
    return m.data + p * m.rows * kPanel;
  }

  // work(vectors, q, j) for tiles of that many vectors, from column j of panel q on, which cover panels [q, end): two
  // vectors in a panel, or four panels, two, and one.
  template <class Work>
  static void for_tiles(size_t q, size_t end, const Work& work) {
    if constexpr (kWholePanels) {
      for (; q + 4 <= end; q += 4) work(std::integral_constant<size_t, 4>(), q, size_t{0});
      for (; q + 2 <= end; q += 2) work(std::integral_constant<size_t, 2>(), q, size_t{0});
      for (; q < end; ++q) work(std::integral_constant<size_t, 1>(), q, size_t{0});
    } else {
      for (; q < end; ++q)
        for (size_t j = 0; j < kPanel; j += 2 * Lanes::kCount) work(std::integral_constant<size_t, 2>(), q, j);
    }
  }
  // From one vector of a tile to the next.
  static size_t stride(size_t rows) { return kWholePanels ? rows * kPanel : Lanes::kCount; }

  static void gram(ConstMatrix t, const size_t* ends, Matrix out) {
    for (size_t p = 0; p < out.panels; ++p) {
      const size_t count = ends == nullptr ? t.rows : ends[p];  // columns of panel p are zero from there on
      for (size_t i = 0; i < kPanel; i += kTileRows) {
        for_tiles(p, out.panels, [&](auto vectors, size_t q, size_t j) {
          constexpr size_t kColumns = decltype(vectors)::value;
          Vector acc[kTileRows][kColumns] = {};
          tile<Lanes, kColumns, false>(panel(t, p) + i, panel(t, q) + j, stride(t.rows), count, acc);
          Real* to = panel(out, q) + (p * kPanel + i) * kPanel + j;
          for (size_t r = 0; r < kTileRows; ++r)
            for (size_t c = 0; c < kColumns; ++c) Lanes::store(to + r * kPanel + c * stride(out.rows), acc[r][c]);
        });
      }
    }
  }

  // Four rows of U at a time, from all rows above them: A - Σ u_k u_kᵀ, then elimination inside the four.
  static bool cholesky(Matrix a, Real least) {
    for (size_t i = 0; i < a.rows; i += kTileRows) {
      const size_t p = i / kPanel;
      Real corner[kTileRows][kTileRows], inverse[kTileRows];
      const size_t apart = stride(a.rows);
      // The panel with the diagonal comes first: its 4 x 4 corner eliminates all the others. Those that fill up a tile
      // take their sums with it.
      const size_t summed = std::min(a.panels, p + (kWholePanels ? 4 : 1));
      const auto strip = [&](auto vectors, size_t q, size_t j, bool eliminate) {
        constexpr size_t kColumns = decltype(vectors)::value;
        Real* to = panel(a, q) + i * kPanel + j;
        Vector acc[kTileRows][kColumns];
        for (size_t r = 0; r < kTileRows; ++r)
          for (size_t c = 0; c < kColumns; ++c) acc[r][c] = Lanes::load(to + r * kPanel + c * apart);
        if (!eliminate || q >= summed)
          tile<Lanes, kColumns, true>(panel(a, p) + i % kPanel, panel(a, q) + j, apart, i, acc);
        for (size_t r = 0; r < kTileRows; ++r) {
          for (size_t c = 0; c < kColumns; ++c) {
            if (eliminate) {
              for (size_t s = 0; s < r; ++s)
                acc[r][c] = Lanes::subtract_product(acc[r][c], Lanes::splat(corner[s][r]), acc[s][c]);
              acc[r][c] = acc[r][c] * Lanes::splat(inverse[r]);
            }
            Lanes::store(to + r * kPanel + c * apart, acc[r][c]);
          }
        }
      };
      const auto before = [&](auto vectors, size_t q, size_t j) { strip(vectors, q, j, false); };
      const auto eliminated = [&](auto vectors, size_t q, size_t j) { strip(vectors, q, j, true); };
      for_tiles(p, summed, before);
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
      for_tiles(p, p + 1, eliminated);
      for (size_t r = 0; r < kTileRows; ++r) {  // nothing below the diagonal may grow unseen
        for (size_t c = 0; c < i % kPanel + r; ++c) rows[r * kPanel + c] = 0;
        rows[r * kPanel + i % kPanel + r] = corner[r][r];
      }
      for_tiles(p + 1, summed, eliminated);
      for_tiles(summed, a.panels, eliminated);
    }
    return true;
  }

  static void solve(ConstMatrix u, Real* x, Real* scratch) {
    static_assert(Lanes::kCount <= kMaxLanes);
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

  // Floats hold all integers up to 2^24, so these sums are exact in any order.
  template <class FloatLanes>
  static void gram(PanelView<const float> t, const size_t* ends, PanelView<float> out, uint8_t*) {
    Dense<FloatLanes>::gram(t, ends, out);
  }

  template <class FloatLanes>
  static constexpr FactorKernels kernels() {
    return {&multiply, &multiply_transposed, &gram<FloatLanes>};
  }
};

}  // namespace zkapex::dense
