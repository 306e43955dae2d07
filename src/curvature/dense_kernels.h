// The kernels of dense.h, written once for any vector width. `Lanes` says how wide vectors are and how to multiply and
// add them; each file that includes this defines its own in an unnamed namespace, so that code compiled for one
// instruction set is never called from another.
#pragma once

#include <cmath>
#include <type_traits>

#include "curvature/dense.h"

namespace zkapex::dense {

inline constexpr size_t kTileRows = 4;

// acc[r][c] (+ or -)= sum over k < count of left[k][r] right[k][c]: some columns of one panel against `Columns`
// vectors, `stride` apart. Eight or more accumulators hide the latency of the multiply-add. Every sum is taken in the
// order of k, so paths with a fused multiply-add agree to the last bit.
template <class Lanes, size_t Columns, bool Subtract, size_t Rows>
inline void tile(const typename Lanes::Real* left, const typename Lanes::Real* right, size_t stride, size_t count,
                 typename Lanes::Vector (&acc)[Rows][Columns]) {
  for (size_t k = 0; k < count; ++k, left += kPanel, right += kPanel) {
    typename Lanes::Vector b[Columns];
    for (size_t c = 0; c < Columns; ++c) b[c] = Lanes::load(right + c * stride);
    for (size_t r = 0; r < Rows; ++r) {
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
  static constexpr size_t kChains = kVectors < 4 ? 4 / kVectors : 1;  // sums side by side hide a latency

  // out[c] = sum over rows k of panel c / kPanel, from `first` to `end`, of t[k][c] x[k]
  static void sum_rows(PanelView<const float> t, size_t p, size_t first, size_t end, const double* x, double* out) {
    const float* from = t.data + p * t.rows * kPanel;
    Vector acc[kChains][kVectors] = {};
    for (size_t k = first; k < end; k += kChains)
      for (size_t h = 0; h < kChains; ++h)
        for (size_t c = 0; c < kVectors; ++c)
          acc[h][c] = Lanes::add_product(acc[h][c], Lanes::splat(x[k + h]),
                                         Lanes::load_floats(from + (k + h) * kPanel + c * Lanes::kCount));
    for (size_t c = 0; c < kVectors; ++c) {
      for (size_t h = 1; h < kChains; ++h) acc[0][c] = acc[0][c] + acc[h][c];
      Lanes::store(out + p * kPanel + c * Lanes::kCount, acc[0][c]);
    }
  }
  static void multiply(PanelView<const float> upper, const double* x, double* out) {
    for (size_t p = 0; p < upper.panels; ++p) sum_rows(upper, p, 0, (p + 1) * kPanel, x, out);
  }
  static void multiply_transposed(PanelView<const float> lower, const double* x, double* out) {
    for (size_t p = 0; p < lower.panels; ++p) sum_rows(lower, p, p * kPanel, lower.rows, x, out);
  }

  // Floats hold all integers up to 2^24, so these sums are exact in any order.
  template <class FloatLanes>
  static void gram(PanelView<const float> t, const size_t* ends, PanelView<float> out, uint8_t*) {
    Dense<FloatLanes>::gram(t, ends, out);
  }

  template <class FloatLanes>
  static constexpr FactorKernels kernels() {
    return {nullptr, &multiply_transposed, &multiply, &gram<FloatLanes>};
  }
};

template <class Lanes>  // of floats
struct Triangle {
  using Vector = typename Lanes::Vector;
  static constexpr size_t kVectors = kPanel / Lanes::kCount, kBlock = kPanel * kPanel;
  static constexpr size_t kTogether = kVectors == 1 ? 2 * kTileRows : kTileRows;  // rows of many right sides

  static const float* block(PanelView<const float> m, size_t p) { return m.data + (p * m.rows + p * kPanel) * kPanel; }

  static void invert_blocks(PanelView<const float> upper, float* inverses) {
    for (size_t p = 0; p < upper.panels; ++p) {
      const float* u = block(upper, p);  // u[k][i] = L[i][k]
      float *inverse = inverses + p * TriangleKernels::kInverse, *transposed = inverse + kBlock;
      for (size_t i = 0; i < kPanel; ++i) {
        const float pivot = 1 / u[i * kPanel + i];
        Vector acc[kVectors];
        for (size_t c = 0; c < kVectors; ++c) {
          float unit[Lanes::kCount] = {};
          if (i / Lanes::kCount == c) unit[i % Lanes::kCount] = 1;
          acc[c] = Lanes::load(unit);
        }
        for (size_t k = 0; k < i; ++k)
          for (size_t c = 0; c < kVectors; ++c)
            acc[c] = Lanes::subtract_product(acc[c], Lanes::splat(u[k * kPanel + i]),
                                             Lanes::load(inverse + k * kPanel + c * Lanes::kCount));
        for (size_t c = 0; c < kVectors; ++c)
          Lanes::store(inverse + i * kPanel + c * Lanes::kCount, acc[c] * Lanes::splat(pivot));
      }
      for (size_t i = 0; i < kPanel; ++i)
        for (size_t k = 0; k < kPanel; ++k) transposed[k * kPanel + i] = inverse[i * kPanel + k];
    }
  }

  // out[c] = sum over k < count of t[k][c] x[k], count a multiple of four, in four sums
  static void sum_rows(const float* t, const float* x, size_t count, float* out) {
    Vector acc[4][kVectors] = {};
    for (size_t k = 0; k < count; k += 4)
      for (size_t h = 0; h < 4; ++h)
        for (size_t c = 0; c < kVectors; ++c)
          acc[h][c] = Lanes::add_product(acc[h][c], Lanes::splat(x[k + h]),
                                         Lanes::load(t + (k + h) * kPanel + c * Lanes::kCount));
    for (size_t c = 0; c < kVectors; ++c)
      Lanes::store(out + c * Lanes::kCount, (acc[0][c] + acc[1][c]) + (acc[2][c] + acc[3][c]));
  }

  // x of panel p becomes (inverse of its block) (x - sums over the others).
  static void finish(const float* inverse, const float* sums, float* x) {
    float rest[kPanel];
    for (size_t i = 0; i < kPanel; ++i) rest[i] = x[i] - sums[i];
    sum_rows(inverse, rest, kPanel, x);
  }

  static void solve(PanelView<const float> upper, const float* inverses, size_t first, float* x) {
    for (size_t p = first; p < upper.panels; ++p) {
      float sums[kPanel];
      sum_rows(upper.data + (p * upper.rows + first * kPanel) * kPanel, x + first * kPanel, (p - first) * kPanel, sums);
      finish(inverses + p * TriangleKernels::kInverse + kBlock, sums, x + p * kPanel);
    }
  }

  static void solve_transposed(PanelView<const float> lower, const float* inverses, float* x) {
    for (size_t p = lower.panels; p-- > 0;) {
      const size_t next = (p + 1) * kPanel;
      float sums[kPanel];
      sum_rows(lower.data + (p * lower.rows + next) * kPanel, x + next, lower.rows - next, sums);
      finish(inverses + p * TriangleKernels::kInverse, sums, x + p * kPanel);
    }
  }

  static void solve_many(PanelView<const float> upper, const float* inverses, size_t first, float* x) {
    const float* solved = x + first * kBlock;
    for (size_t p = first; p < upper.panels; ++p) {
      const float *left = upper.data + (p * upper.rows + first * kPanel) * kPanel,
                  *transposed = inverses + p * TriangleKernels::kInverse + kBlock;
      float rest[kBlock];
      for (size_t i = 0; i < kPanel; i += kTogether) {
        Vector acc[kTogether][kVectors];
        rows(x + p * kBlock + i * kPanel, acc);
        tile<Lanes, kVectors, true>(left + i, solved, Lanes::kCount, (p - first) * kPanel, acc);
        put(acc, rest + i * kPanel);
      }
      for (size_t i = 0; i < kPanel; i += kTogether) {
        Vector acc[kTogether][kVectors] = {};
        tile<Lanes, kVectors, false>(transposed + i, rest, Lanes::kCount, i + kTogether, acc);
        put(acc, x + p * kBlock + i * kPanel);
      }
    }
  }
  static void rows(const float* from, Vector (&acc)[kTogether][kVectors]) {
    for (size_t r = 0; r < kTogether; ++r)
      for (size_t c = 0; c < kVectors; ++c) acc[r][c] = Lanes::load(from + r * kPanel + c * Lanes::kCount);
  }
  static void put(const Vector (&acc)[kTogether][kVectors], float* to) {
    for (size_t r = 0; r < kTogether; ++r)
      for (size_t c = 0; c < kVectors; ++c) Lanes::store(to + r * kPanel + c * Lanes::kCount, acc[r][c]);
  }

  static constexpr TriangleKernels kernels() { return {&invert_blocks, &solve, &solve_many, &solve_transposed}; }
};

}  // namespace zkapex::dense
