#include "curvature/factor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "base/result_testing.h"

namespace zkapex {
namespace {

// Gradients with a decaying spectrum, as real ones have.
std::vector<double> gradients(size_t samples, size_t size, double scale, std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  std::vector<double> out(samples * size);
  std::vector<double> shared(size);
  for (double& v : shared) v = normal(rng);
  for (size_t s = 0; s < samples; ++s) {
    const double common = normal(rng);
    for (size_t i = 0; i < size; ++i)
      out[s * size + i] = scale * (common * shared[i] + normal(rng) / static_cast<double>(1 + i % 7));
  }
  return out;
}

std::vector<double> fisher_of(const std::vector<double>& g, size_t size) {
  const size_t samples = g.size() / size;
  std::vector<double> out(size * size);
  for (size_t s = 0; s < samples; ++s)
    for (size_t i = 0; i < size; ++i)
      for (size_t j = 0; j < size; ++j)
        out[i * size + j] += g[s * size + i] * g[s * size + j] / static_cast<double>(samples);
  return out;
}

// A = L Lᵀ + μ I from the packed factor.
std::vector<double> curvature_of(std::span<const int16_t> factor, size_t size, double floor) {
  std::vector<double> out(size * size);
  for (size_t i = 0; i < size; ++i)
    for (size_t j = 0; j < size; ++j) {
      double sum = i == j ? floor : 0;
      for (size_t l = 0; l <= std::min(i, j); ++l)
        sum += static_cast<double>(factor[triangle_size(i) + l]) * factor[triangle_size(j) + l];
      out[i * size + j] = sum;
    }
  return out;
}

TEST(Factor, ReproducesTheDampedFisherUpToRounding) {
  std::mt19937_64 rng(3);
  for (const unsigned bits : {8U, 12U, 16U}) {
    for (const size_t size : {size_t{1}, size_t{16}, size_t{37}, size_t{64}}) {
      const FactorSettings settings{.block = 64, .bits = bits, .floor = 2, .damping = {}};
      ASSERT_TRUE(settings.check().ok());
      const auto g = gradients(100, size, 1e-4, rng);
      const auto f = fisher_of(g, size);
      FactorMaker maker(settings);
      std::vector<int16_t> factor(triangle_size(64)), again(factor.size());
      const auto stats = maker.from_gradients(g, size, factor);
      ASSERT_TRUE(stats.ok()) << stats.error().message;
      EXPECT_FALSE(stats->rank_deficient);
      int largest = 0;
      for (const int16_t v : factor) largest = std::max(largest, std::abs(static_cast<int>(v)));
      EXPECT_LE(largest, settings.largest());
      EXPECT_GE(largest, 9 * settings.largest() / 10);  // the bits are used
      for (size_t k = triangle_size(size); k < factor.size(); ++k) EXPECT_EQ(factor[k], 0);

      const auto a = curvature_of(factor, size, 2);
      double off = 0, norm = 0;
      for (size_t i = 0; i < size; ++i)
        for (size_t j = 0; j < size; ++j) {
          const double want = stats->scale * (f[i * size + j] + (i == j ? stats->damping : 0));
          off += (a[i * size + j] - want) * (a[i * size + j] - want);
          norm += want * want;
        }
      EXPECT_LT(std::sqrt(off / norm), 4.0 / settings.largest()) << bits << " " << size;

      const auto from_matrix = maker.from_matrix(f, size, again);
      ASSERT_TRUE(from_matrix.ok());
      EXPECT_NEAR(from_matrix->scale / stats->scale, 1, 1e-6);
      EXPECT_EQ(again, factor);
    }
  }
}

TEST(Factor, SaysWhenDampingHadToBeRaised) {
  std::mt19937_64 rng(4);
  const auto g = gradients(10, 32, 1, rng);
  std::vector<int16_t> factor(triangle_size(32));
  FactorMaker coarse({.block = 32, .bits = 8, .floor = 4, .damping = {Damping::Kind::kRelative, 1e-9}});
  const auto stats = coarse.from_gradients(g, 32, factor);
  ASSERT_TRUE(stats.ok());
  EXPECT_TRUE(stats->rank_deficient);
  EXPECT_TRUE(stats->raised);
  EXPECT_GT(stats->damping, stats->requested_damping);
  EXPECT_NEAR(stats->damping * stats->scale, 4, 0.1);
  EXPECT_GT(stats->condition, 100);

  FactorMaker fine({.block = 32, .bits = 16, .floor = 4, .damping = {Damping::Kind::kAbsolute, 0.01}});
  const auto exact = fine.from_gradients(g, 32, factor);
  ASSERT_TRUE(exact.ok());
  EXPECT_FALSE(exact->raised);
  EXPECT_DOUBLE_EQ(exact->requested_damping, 0.01);
  EXPECT_NEAR(exact->damping, 0.01, 1e-9);
}

TEST(Factor, ConditionIsClose) {
  // diag(100, 1, .., 1) with damping 1: the condition number of C is 101 / 2.
  std::vector<double> f(32 * 32, 0.0);
  for (size_t i = 0; i < 32; ++i) f[i * 32 + i] = i == 0 ? 100 : 1;
  std::vector<int16_t> factor(triangle_size(32));
  FactorMaker maker({.block = 32, .bits = 12, .floor = 1, .damping = {Damping::Kind::kAbsolute, 1.0}});
  const auto stats = maker.from_matrix(f, 32, factor);
  ASSERT_TRUE(stats.ok());
  EXPECT_NEAR(stats->condition, 50.5, 1.0);
}

TEST(Factor, AZeroBlockOnlyMasks) {
  std::vector<int16_t> factor(triangle_size(16), 5);
  FactorMaker maker({.block = 16, .bits = 8, .floor = 4, .damping = {}});
  const auto stats = maker.from_gradients(std::vector<double>(32, 0.0), 16, factor);
  ASSERT_TRUE(stats.ok());
  EXPECT_TRUE(stats->zero);
  EXPECT_EQ(factor, std::vector<int16_t>(triangle_size(16), 0));
}

TEST(Factor, RefusesWhatIsNotAFisherBlock) {
  std::vector<int16_t> factor(triangle_size(2));
  FactorMaker maker({.block = 2, .bits = 8, .floor = 4, .damping = {Damping::Kind::kRelative, 1e-2}});
  EXPECT_FALSE(maker.from_matrix(std::vector<double>{1, 2, 2, 1}, 2, factor).ok());      // eigenvalue -1
  EXPECT_FALSE(maker.from_matrix(std::vector<double>{1, 1.1, 1.1, 1}, 2, factor).ok());  // -0.1: no rounding
  EXPECT_EQ(testing::refusal(maker.from_matrix(std::vector<double>{-1, 0, 0, 1}, 2, factor)),
            "diagonal entry 0 of the Fisher block is negative");
  EXPECT_FALSE(maker.from_matrix(std::vector<double>{1, 0, std::nan(""), 1}, 2, factor).ok());
  EXPECT_FALSE(maker.from_gradients(std::vector<double>{1, INFINITY}, 2, factor).ok());
  EXPECT_FALSE(maker.from_matrix(std::vector<double>{1e300, 0, 0, 1}, 2, factor).ok());
  EXPECT_TRUE(maker.from_matrix(std::vector<double>{1e-300, 0, 0, 1e-310}, 2, factor)->zero);
  EXPECT_TRUE(maker.from_matrix(std::vector<double>{1e-200, 0, 0, 1e200}, 2, factor).ok());
  EXPECT_FALSE(maker.from_gradients(std::vector<double>{1, 2, 3}, 2, factor).ok());
  EXPECT_FALSE(maker.from_gradients({}, 2, factor).ok());
  EXPECT_FALSE(maker.from_gradients(std::vector<double>{1, 2, 3}, 3, factor).ok());
  EXPECT_TRUE(maker.from_gradients(std::vector<double>{1, 2}, 2, factor).ok());
  EXPECT_FALSE((FactorSettings{.block = 0, .bits = 8, .floor = 1, .damping = {}}.check().ok()));
  EXPECT_FALSE((FactorSettings{.block = 2, .bits = 17, .floor = 1, .damping = {}}.check().ok()));
  EXPECT_FALSE((FactorSettings{.block = 2, .bits = 8, .floor = 0, .damping = {}}.check().ok()));
  EXPECT_FALSE(
      (FactorSettings{.block = 2, .bits = 8, .floor = 1, .damping = {Damping::Kind::kAbsolute, -1}}.check().ok()));
  EXPECT_FALSE((FactorSettings{.block = 2, .bits = 8, .floor = 1, .damping = {Damping::Kind::kRelative, std::nan("")}}
                    .check()
                    .ok()));
}

// s (F + λ) − μ grows faster than s where μ is large: the scale that would fill the bits by the rule of three does not
// fit.
TEST(Factor, EntriesFitWhereTheFloorIsLarge) {
  const FactorSettings settings{.block = 1, .bits = 3, .floor = 6, .damping = {Damping::Kind::kAbsolute, 9.0}};
  std::vector<int16_t> factor(1);
  FactorMaker maker(settings);
  const auto stats = maker.from_matrix(std::vector<double>{1}, 1, factor);
  ASSERT_TRUE(stats.ok()) << stats.error().message;
  EXPECT_GT(factor[0], 0);
  EXPECT_LE(factor[0], settings.largest());
}

// Symmetric, but slightly indefinite by float rounding: a little damping more, not an error.
TEST(Factor, ForgivesRounding) {
  std::mt19937_64 rng(5);
  const auto g = gradients(3, 48, 1, rng);
  auto f = fisher_of(g, 48);
  for (double& v : f) v = static_cast<float>(v);
  for (size_t i = 0; i < 48; ++i)
    for (size_t j = 0; j < i; ++j) f[j * 48 + i] = f[i * 48 + j];
  std::vector<int16_t> factor(triangle_size(48));
  FactorMaker maker({.block = 48, .bits = 16, .floor = 1, .damping = {Damping::Kind::kAbsolute, 0.0}});
  const auto stats = maker.from_matrix(f, 48, factor);
  ASSERT_TRUE(stats.ok()) << stats.error().message;
  EXPECT_TRUE(stats->raised);
}

}  // namespace
}  // namespace zkapex
