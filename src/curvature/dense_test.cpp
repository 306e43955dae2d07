#include "curvature/dense.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <random>

namespace zkapex {
namespace {

// A random positive definite matrix tᵀ t + shift I, and t.
template <class Real>
struct Problem {
  PanelMatrix<Real> t, a;
  Problem(size_t rows, size_t n, double shift, std::mt19937_64& rng) : t(rows, n), a(n, n) {
    std::uniform_real_distribution<double> any(-1, 1);
    for (size_t k = 0; k < rows; ++k)
      for (size_t i = 0; i < n; ++i) t.at(k, i) = static_cast<Real>(any(rng));
    for (size_t i = 0; i < n; ++i) {
      for (size_t j = i; j < n; ++j) {
        double sum = i == j ? shift : 0;
        for (size_t k = 0; k < rows; ++k) sum += static_cast<double>(t.at(k, i)) * static_cast<double>(t.at(k, j));
        a.at(i, j) = static_cast<Real>(sum);
      }
    }
  }
};

template <class Real>
class DenseTest : public ::testing::Test {};
using Reals = ::testing::Types<float, double>;
TYPED_TEST_SUITE(DenseTest, Reals);

TYPED_TEST(DenseTest, GramCholeskyAndSolveAgreeWithTheirDefinitions) {
  using Real = TypeParam;
  const double tolerance = std::is_same_v<Real, float> ? 1e-4 : 1e-12;
  std::mt19937_64 rng(7);
  for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
    const auto& kernels = DenseKernels<Real>::get(set);
    for (const size_t n : {size_t{16}, size_t{32}, size_t{80}}) {
      for (const size_t rows : {size_t{1}, size_t{33}, size_t{100}}) {
        Problem<Real> problem(rows, n, 1.0, rng);
        PanelMatrix<Real> a(n, n);
        kernels.gram(std::as_const(problem.t).view(), nullptr, a.view());
        for (size_t i = 0; i < n; ++i) a.at(i, i) += 1;
        for (size_t i = 0; i < n; ++i)
          for (size_t j = i; j < n; ++j) EXPECT_NEAR(a.at(i, j), problem.a.at(i, j), tolerance * 100);

        ASSERT_TRUE(kernels.cholesky(a.view(), 0));
        for (size_t i = 0; i < n; ++i) {
          for (size_t j = i; j < n; ++j) {
            double sum = 0;
            for (size_t k = 0; k <= i; ++k) sum += static_cast<double>(a.at(k, i)) * static_cast<double>(a.at(k, j));
            EXPECT_NEAR(sum, problem.a.at(i, j), tolerance * 100);
          }
        }

        std::vector<Real> want(n), x(n), scratch(n * kMaxLanes);
        for (Real& v : want) v = static_cast<Real>(std::uniform_real_distribution<double>(-1, 1)(rng));
        for (size_t i = 0; i < n; ++i) {
          double sum = 0;
          for (size_t j = 0; j < n; ++j)
            sum += static_cast<double>(problem.a.at(std::min(i, j), std::max(i, j))) * static_cast<double>(want[j]);
          x[i] = static_cast<Real>(sum);
        }
        kernels.solve(std::as_const(a).view(), x.data(), scratch.data());
        for (size_t i = 0; i < n; ++i) EXPECT_NEAR(x[i], want[i], tolerance * 100) << n << " " << rows;
      }
    }
  }
}

TYPED_TEST(DenseTest, GramSkipsWhatIsSaidToBeZero) {
  using Real = TypeParam;
  std::mt19937_64 rng(8);
  Problem<Real> problem(48, 48, 0, rng);
  const size_t ends[] = {16, 40, 48};
  for (size_t k = 0; k < 48; ++k)
    for (size_t i = 0; i < 48; ++i)
      if (k >= ends[i / 16]) problem.t.at(k, i) = 0;
  for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
    PanelMatrix<Real> all(48, 48), some(48, 48);
    DenseKernels<Real>::get(set).gram(std::as_const(problem.t).view(), nullptr, all.view());
    DenseKernels<Real>::get(set).gram(std::as_const(problem.t).view(), ends, some.view());
    for (size_t i = 0; i < 48; ++i)
      for (size_t j = i; j < 48; ++j) EXPECT_EQ(all.at(i, j), some.at(i, j));
  }
}

TYPED_TEST(DenseTest, CholeskyStopsAtABadPivot) {
  using Real = TypeParam;
  for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
    for (size_t bad = 0; bad < 32; ++bad) {
      for (const Real value : {Real{0}, Real{-1}, static_cast<Real>(std::nan("")), static_cast<Real>(1e-3)}) {
        PanelMatrix<Real> a(32, 32);
        for (size_t i = 0; i < 32; ++i) a.at(i, i) = i == bad ? value : Real{2};
        EXPECT_FALSE(DenseKernels<Real>::get(set).cholesky(a.view(), static_cast<Real>(1e-2)));
      }
    }
  }
}

// Extremes, and sizes of rows and panels around what is taken together.
TEST(FactorKernels, GramOfBytesIsExact) {
  std::mt19937_64 rng(10);
  std::uniform_int_distribution<int> entry(-128, 127);
  struct alignas(64) Line {
    uint8_t bytes[64];
  };
  for (const size_t panels : {size_t{1}, size_t{3}, size_t{4}, size_t{6}, size_t{9}}) {
    for (const size_t rows : {size_t{1}, size_t{4}, size_t{31}, size_t{1024}}) {
      for (const bool extreme : {false, true}) {
        PanelMatrix<float> t(rows, panels * kPanel);
        std::vector<size_t> ends;
        for (size_t p = 0; p < panels; ++p) ends.push_back(rows - rows * (panels - 1 - p) / (2 * panels));
        for (size_t k = 0; k < rows; ++k) {
          for (size_t i = 0; i < panels * kPanel; ++i) {
            // Behind the end of a panel anything may be.
            const int v = extreme ? (i % 3 == 0 ? -128 : 127) : entry(rng);
            t.at(k, i) = static_cast<float>(v);
          }
        }
        for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
          PanelMatrix<float> out(panels * kPanel, panels * kPanel);
          std::vector<Line> scratch((rows + 3) / 4 * panels);
          FactorKernels::get(set).gram(std::as_const(t).view(), ends.data(), out.view(), scratch.data()->bytes);
          for (size_t i = 0; i < panels * kPanel; i += 5) {
            for (size_t j = i; j < panels * kPanel; j += 3) {
              int64_t sum = 0;
              for (size_t k = 0; k < ends[i / kPanel]; ++k)
                sum += static_cast<int64_t>(t.at(k, i)) * static_cast<int64_t>(t.at(k, j));
              ASSERT_EQ(static_cast<int64_t>(out.at(i, j)), sum) << panels << ' ' << rows << ' ' << i << ' ' << j;
            }
          }
        }
      }
    }
  }
}

// Sums are taken in the same order, with one rounding for each product and sum.
TEST(DenseKernelsOfFloats, Avx512AgreesWithAvx2ToTheLastBit) {
  if (detect_instruction_set() != InstructionSet::kAvx512) GTEST_SKIP() << "no AVX-512 here";
  std::mt19937_64 rng(11);
  for (const size_t n : {size_t{16}, size_t{80}, size_t{144}, size_t{256}}) {
    const Problem<float> problem(n + 3, n, 1.0, rng);
    const auto &narrow = DenseKernels<float>::get(InstructionSet::kAvx2),
               &wide = DenseKernels<float>::get(InstructionSet::kAvx512);
    PanelMatrix<float> a(n, n), b(n, n);
    narrow.gram(problem.t.view(), nullptr, a.view());
    wide.gram(problem.t.view(), nullptr, b.view());
    for (const auto* kernels : {&narrow, &wide}) {
      PanelMatrix<float>& m = kernels == &narrow ? a : b;
      for (size_t i = 0; i < n; ++i) m.at(i, i) += 1;
      ASSERT_TRUE(kernels->cholesky(m.view(), 0));
    }
    for (size_t i = 0; i < n; ++i)
      for (size_t j = i; j < n; ++j) ASSERT_EQ(a.at(i, j), b.at(i, j)) << n << ' ' << i << ' ' << j;
  }
}

// A packed triangle, with extremes, whose diagonal is large enough to be solved with.
std::vector<int8_t> random_factor(size_t size, std::mt19937_64& rng) {
  std::vector<int8_t> out(size * (size + 1) / 2);
  for (size_t j = 0; j < size; ++j) {
    for (size_t l = 0; l < j; ++l) out[j * (j + 1) / 2 + l] = static_cast<int8_t>(static_cast<int>(rng() % 17) - 8);
    out[j * (j + 1) / 2 + j] = static_cast<int8_t>(rng() % 2 == 0 ? 127 : -100);
  }
  if (size > 1) out[1] = -128;
  return out;
}

// L at (i, k), which goes on as the identity.
double entry_of(const std::vector<int8_t>& factor, size_t size, size_t i, size_t k) {
  if (i >= size || k > i) return i == k ? 1 : 0;
  return factor[i * (i + 1) / 2 + k];
}

struct Arranged {
  size_t n;
  PanelMatrix<float> upper, lower;
  Arranged(const std::vector<int8_t>& factor, size_t size, InstructionSet set)
      : n(panels_for(size) * kPanel), upper(n, n), lower(n, n) {
    FactorKernels::get(set).arrange(factor.data(), size, upper.view(), lower.view());
  }
};

constexpr std::array<size_t, 7> kSizes = {1, 15, 16, 17, 60, 80, 256};

TEST(FactorKernels, ArrangesATriangleBothWays) {
  std::mt19937_64 rng(12);
  for (const size_t size : kSizes) {
    const std::vector<int8_t> factor = random_factor(size, rng);
    for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
      const Arranged arranged(factor, size, set);
      for (size_t i = 0; i < arranged.n; ++i) {
        for (size_t k = 0; k < (i / kPanel + 1) * kPanel; ++k) {
          ASSERT_EQ(arranged.upper.at(k, i), entry_of(factor, size, i, k)) << size << ' ' << i << ' ' << k;
          ASSERT_EQ(arranged.lower.at(i, k), entry_of(factor, size, i, k)) << size << ' ' << i << ' ' << k;
        }
      }
    }
  }
}

TEST(FactorKernels, ProductsOfIntegersAreExact) {
  std::mt19937_64 rng(9);
  std::uniform_int_distribution<int64_t> any(-(int64_t{1} << 36), int64_t{1} << 36);
  for (const size_t size : kSizes) {
    const std::vector<int8_t> factor = random_factor(size, rng);
    for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
      const Arranged arranged(factor, size, set);
      const size_t n = arranged.n;
      std::vector<double> x(n), z(n), y(n);
      for (double& v : x) v = static_cast<double>(any(rng));
      const FactorKernels& kernels = FactorKernels::get(set);
      kernels.multiply_transposed(arranged.lower.view(), x.data(), z.data());
      kernels.multiply(arranged.upper.view(), x.data(), y.data());
      for (size_t k = 0; k < n; ++k) {
        int64_t down = 0, along = 0;
        for (size_t i = 0; i < n; ++i) {
          down += static_cast<int64_t>(entry_of(factor, size, i, k)) * static_cast<int64_t>(x[i]);
          along += static_cast<int64_t>(entry_of(factor, size, k, i)) * static_cast<int64_t>(x[i]);
        }
        ASSERT_EQ(static_cast<int64_t>(z[k]), down);
        ASSERT_EQ(static_cast<int64_t>(y[k]), along);
      }
    }
  }
}

TEST(TriangleKernels, SolveWithBothArrangements) {
  std::mt19937_64 rng(13);
  std::uniform_real_distribution<float> any(-1, 1);
  for (const size_t size : kSizes) {
    const std::vector<int8_t> factor = random_factor(size, rng);
    std::vector<std::vector<float>> of_paths;
    std::vector<float> start(panels_for(size) * kPanel * kPanel);
    for (float& v : start) v = any(rng);
    for (const InstructionSet set : instruction_sets_up_to(detect_instruction_set())) {
      const Arranged arranged(factor, size, set);
      const size_t n = arranged.n, first = arranged.upper.panels() / 2;
      const TriangleKernels& kernels = TriangleKernels::get(set);
      std::vector<float> inverses(arranged.upper.panels() * TriangleKernels::kInverse), all;
      kernels.invert_blocks(arranged.upper.view(), inverses.data());
      for (const size_t from : {size_t{0}, first}) {
        std::vector<float> want(start.begin(), start.begin() + static_cast<ptrdiff_t>(n));
        std::fill_n(want.begin(), from * kPanel, 0.0F);
        std::vector<float> x = want, many(n * kPanel);
        for (size_t i = from * kPanel; i < n; ++i)
          for (size_t c = 0; c < kPanel; ++c) many[i * kPanel + c] = want[i] * static_cast<float>(c);
        kernels.solve(arranged.upper.view(), inverses.data(), from, x.data());
        kernels.solve_many(arranged.upper.view(), inverses.data(), from, many.data());
        for (size_t i = 0; i < n; ++i) {
          double sum = 0, third = 0;
          for (size_t k = 0; k <= i; ++k) {
            sum += entry_of(factor, size, i, k) * static_cast<double>(x[k]);
            third += entry_of(factor, size, i, k) * static_cast<double>(many[k * kPanel + 3]);
          }
          ASSERT_NEAR(sum, want[i], 1e-4) << size << ' ' << i;
          ASSERT_NEAR(third, 3 * want[i], 3e-4) << size << ' ' << i;
        }
        all.insert(all.end(), many.begin(), many.end());
        x = want;
        kernels.solve_transposed(arranged.lower.view(), inverses.data(), x.data());
        for (size_t k = 0; k < n; ++k) {
          double sum = 0;
          for (size_t i = k; i < n; ++i) sum += entry_of(factor, size, i, k) * static_cast<double>(x[i]);
          ASSERT_NEAR(sum, want[k], 1e-4) << size << ' ' << k;
        }
        all.insert(all.end(), x.begin(), x.end());
      }
      if (set >= InstructionSet::kAvx2) of_paths.push_back(all);
    }
    for (const auto& path : of_paths) EXPECT_EQ(path, of_paths[0]);  // to the last bit
  }
}

}  // namespace
}  // namespace zkapex
