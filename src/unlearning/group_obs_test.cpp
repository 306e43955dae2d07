#include "unlearning/group_obs.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>

#include "base/result_testing.h"
#include "curvature/factor.h"

namespace zkapex {
namespace {

using testing::refusal;

Deployment deployment_of(size_t block, unsigned bits, uint64_t floor, const char* error_bound,
                         FixedPoint weights = {.fraction_bits = 36, .width = 40}) {
  const uint64_t row = std::max<uint64_t>(256, std::bit_ceil(block) * std::bit_ceil(block));
  Parameters p;
  p.curvature_bits = bits;
  p.floor = floor;
  p.error = *Decimal::parse(error_bound);
  p.weights = weights;
  auto made = Deployment::make(*Layout::make({{"w", Dtype::kF32, {1000}}}, {"w"}, {block, row}), p);
  EXPECT_TRUE(made.ok()) << made.error().message;
  return *made;
}

struct Block {
  std::vector<int16_t> factor;
  std::vector<int64_t> theta;
  std::vector<uint32_t> masked;
  std::vector<int64_t> guide = {};
  uint64_t pull = 0;

  [[nodiscard]] GroupObs::Block view() const { return {theta, masked, guide}; }
  [[nodiscard]] int64_t guide_of(size_t k) const { return guide.empty() ? 0 : guide[k]; }
};

// A factor of the Fisher matrix of gradients with few strong directions, weights as trained ones, some of them masked.
Block random_block(size_t block, size_t size, unsigned bits, uint64_t floor, double damping, double density,
                   std::mt19937_64& rng) {
  std::normal_distribution<double> normal;
  std::vector<double> gradients(2 * size * size), direction(size);
  for (double& v : direction) v = 3 * normal(rng);
  for (size_t s = 0; s < 2 * size; ++s) {
    const double common = normal(rng);
    for (size_t i = 0; i < size; ++i) gradients[s * size + i] = common * direction[i] + normal(rng);
  }
  Block out;
  out.factor.resize(triangle_size(block));
  FactorMaker maker({.block = block, .bits = bits, .floor = floor, .damping = {Damping::Kind::kRelative, damping}});
  EXPECT_TRUE(maker.from_gradients(gradients, size, out.factor).ok());
  for (size_t k = 0; k < size; ++k) {
    out.theta.push_back(std::llrint(std::ldexp(0.05 * normal(rng), 36)));
    if (std::uniform_real_distribution<double>()(rng) < density) out.masked.push_back(static_cast<uint32_t>(k));
  }
  return out;
}

std::vector<std::vector<long double>> curvature_of(const Block& b, uint64_t floor) {
  const size_t n = b.theta.size();
  std::vector<std::vector<long double>> a(n, std::vector<long double>(n));
  for (size_t i = 0; i < n; ++i)
    for (size_t j = 0; j < n; ++j) {
      a[i][j] = i == j ? static_cast<long double>(floor) : 0;
      for (size_t l = 0; l <= std::min(i, j); ++l)
        a[i][j] += static_cast<long double>(b.factor[triangle_size(i) + l]) * b.factor[triangle_size(j) + l];
    }
  return a;
}

// x = argmin xᵀ A x + t (x − Δ)² with x_M = -θ_M, by elimination in long double.
std::vector<long double> dense_solution(const Block& b, uint64_t floor) {
  auto a = curvature_of(b, floor + b.pull);
  const size_t n = b.theta.size();
  std::vector<long double> right(n, 0);
  for (size_t i = 0; i < n; ++i) right[i] = static_cast<long double>(b.pull) * static_cast<long double>(b.guide_of(i));
  for (const uint32_t m : b.masked) {
    for (size_t i = 0; i < n; ++i) a[m][i] = i == m ? 1 : 0;
    right[m] = -static_cast<long double>(b.theta[m]);
  }
  for (size_t k = 0; k < n; ++k) {
    size_t pivot = k;
    for (size_t i = k; i < n; ++i)
      if (std::fabs(a[i][k]) > std::fabs(a[pivot][k])) pivot = i;
    std::swap(a[k], a[pivot]);
    std::swap(right[k], right[pivot]);
    for (size_t i = k + 1; i < n; ++i) {
      const long double factor = a[i][k] / a[k][k];
      for (size_t j = k; j < n; ++j) a[i][j] -= factor * a[k][j];
      right[i] -= factor * right[k];
    }
  }
  for (size_t k = n; k-- > 0;) {
    for (size_t j = k + 1; j < n; ++j) right[k] -= a[k][j] * right[j];
    right[k] /= a[k][k];
  }
  return right;
}

// Everything an outcome claims, from the definitions.
void expect_honest(const Block& b, const Deployment& deployment, const std::vector<int64_t>& theta_u,
                   const ObsOutcome& outcome) {
  const uint64_t floor = deployment.parameters().floor + b.pull;
  const size_t n = b.theta.size();
  std::vector<int128> z(n), x(n);
  std::vector<bool> is_masked(n, false);
  for (const uint32_t m : b.masked) is_masked[m] = true;
  for (size_t i = 0; i < n; ++i) x[i] = static_cast<int128>(theta_u[i]) - b.theta[i];
  for (size_t l = 0; l < n; ++l)
    for (size_t j = l; j < n; ++j) z[l] += b.factor[triangle_size(j) + l] * x[j];
  Wide residual, moved, removed;
  int128 followed = 0;
  for (size_t i = 0; i < n; ++i) {
    int128 y = static_cast<int128>(floor) * x[i] - static_cast<int128>(b.pull) * b.guide_of(i);
    followed += x[i] * b.guide_of(i);
    for (size_t l = 0; l <= i; ++l) y += b.factor[triangle_size(i) + l] * z[l];
    if (is_masked[i]) {
      EXPECT_EQ(theta_u[i], 0);
      removed += Wide::square_of(x[i]);
    } else {
      residual += Wide::square_of(y);
      moved += Wide::square_of(x[i]);
    }
    EXPECT_TRUE(deployment.parameters().weights.contains(theta_u[i]));
  }
  EXPECT_EQ(outcome.residual, residual);
  EXPECT_EQ(Wide::from(outcome.moved), moved);
  EXPECT_EQ(Wide::from(outcome.removed), removed);
  EXPECT_EQ(outcome.followed, followed);
  EXPECT_LE(residual, deployment.residual_bound(b.pull));
}

// The certified error: the distance to the exact solution, in units of weights.
long double distance(const Block& b, uint64_t floor, const std::vector<int64_t>& theta_u) {
  const auto want = dense_solution(b, floor);
  long double sum = 0;
  for (size_t i = 0; i < want.size(); ++i) {
    const long double off = static_cast<long double>(theta_u[i] - b.theta[i]) - want[i];
    sum += off * off;
  }
  return std::ldexp(std::sqrt(sum), -36);
}

TEST(GroupObs, MeetsTheBoundAndTheDenseSolution) {
  std::mt19937_64 rng(1);
  for (const unsigned bits : {8U, 12U, 16U}) {
    const uint64_t floor = uint64_t{4} << (2 * (bits - 8));  // grows with the scale that the bits allow
    for (const size_t size : {size_t{1}, size_t{7}, size_t{16}, size_t{33}, size_t{64}}) {
      for (const double density : {0.04, 0.5, 1.0}) {
        const Deployment deployment = deployment_of(64, bits, floor, "1e-5");
        const Block block = random_block(64, size, bits, floor, 1e-2, density, rng);
        GroupObs solver(deployment);
        std::vector<int64_t> theta_u(size);
        const auto outcome = solver.solve(std::span<const int16_t>(block.factor), block.view(), theta_u);
        ASSERT_TRUE(outcome.ok()) << outcome.error().message;
        expect_honest(block, deployment, theta_u, *outcome);
        if (!block.masked.empty()) {
          EXPECT_LT(distance(block, floor, theta_u), 1e-7L);  // far inside ε: nothing but rounding is left
        }
      }
    }
  }
}

// Few masked weights and no pull: solved without a factor of A_CC. Everything else goes the long way.
TEST(GroupObs, SolvesByTheStoredFactorWhereItCan) {
  std::mt19937_64 rng(9);
  for (const size_t size : {size_t{16}, size_t{50}, size_t{64}}) {
    for (const size_t count : {size_t{1}, size_t{3}, size / 4, size / 2}) {
      for (const bool wide : {false, true}) {
        for (const bool bad : {false, true}) {
          const Deployment deployment = deployment_of(64, 8, 4, "1e-5");
          Block block = random_block(64, size, 8, 4, 0.2, 0, rng);
          block.masked.resize(size);
          std::iota(block.masked.begin(), block.masked.end(), 0U);
          std::shuffle(block.masked.begin(), block.masked.end(), rng);
          block.masked.resize(count);
          std::ranges::sort(block.masked);
          if (bad) block.factor[triangle_size(size - 1) + size - 1] = 0;  // L cannot be solved with
          GroupObs solver(deployment);
          std::vector<int64_t> theta_u(size);
          const std::vector<int8_t> narrow(block.factor.begin(), block.factor.end());
          const auto outcome = wide ? solver.solve(std::span<const int16_t>(block.factor), block.view(), theta_u)
                                    : solver.solve(std::span<const int8_t>(narrow), block.view(), theta_u);
          ASSERT_TRUE(outcome.ok()) << outcome.error().message;
          expect_honest(block, deployment, theta_u, *outcome);
          EXPECT_EQ(outcome->stored_factor, !bad && count <= size / 4) << size << ' ' << count;
          EXPECT_LT(distance(block, 4, theta_u), 1e-7L);
        }
      }
    }
  }
}

// Masked weights that the curvature cannot tell apart: the short way does not get there.
TEST(GroupObs, GoesTheLongWayWhereTheShortOneFails) {
  const Deployment deployment = deployment_of(16, 8, 4, "1e-2");
  Block block;
  block.factor.resize(triangle_size(16));
  for (size_t j = 0; j < 16; ++j) {
    for (size_t l = 0; l < j; ++l) block.factor[triangle_size(j) + l] = static_cast<int16_t>(l % 2 == 0 ? 127 : -128);
    block.factor[triangle_size(j) + j] = 9;
  }
  for (size_t k = 0; k < 16; ++k) block.theta.push_back((int64_t{1} << 30) + static_cast<int64_t>(k));
  block.masked = {2, 3};
  GroupObs solver(deployment);
  std::vector<int64_t> theta_u(16);
  const auto outcome = solver.solve(std::span<const int16_t>(block.factor), block.view(), theta_u);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  expect_honest(block, deployment, theta_u, *outcome);
  EXPECT_FALSE(outcome->stored_factor);
}

// Drawn towards a guide, with a mask, without one, and with a mask of everything.
TEST(GroupObs, FollowsAGuideAsFarAsTheCurvatureLets) {
  std::mt19937_64 rng(7);
  const Deployment deployment = deployment_of(64, 8, 4, "1e-5");
  for (const uint64_t pull : {uint64_t{1}, uint64_t{16129}, uint64_t{1} << 20}) {
    for (const double density : {0.0, 0.05, 1.0}) {
      for (const size_t size : {size_t{7}, size_t{64}}) {
        Block block = random_block(64, size, 8, 4, 1e-2, density, rng);
        block.pull = pull;
        for (size_t k = 0; k < size; ++k)
          block.guide.push_back(static_cast<int64_t>(rng() % 3 - 1) * (int64_t{1} << 28));
        for (const uint32_t m : block.masked) block.guide[m] = 0;
        GroupObs solver(deployment, pull);
        std::vector<int64_t> theta_u(size);
        const auto outcome = solver.solve(std::span<const int16_t>(block.factor), block.view(), theta_u);
        ASSERT_TRUE(outcome.ok()) << outcome.error().message;
        expect_honest(block, deployment, theta_u, *outcome);
        EXPECT_LT(distance(block, 4, theta_u), 1e-7L);
        if (density == 0) {  // x = K Δ with 0 ⪯ K ⪯ I
          EXPECT_GT(outcome->followed, 0);
          EXPECT_LE(static_cast<uint128>(outcome->followed), outcome->guide);
        }
      }
    }
  }
}

// No pull, or nowhere to be pulled to: Group-OBS bit for bit.
TEST(GroupObs, WithoutAGuideItIsGroupObs) {
  std::mt19937_64 rng(8);
  const Deployment deployment = deployment_of(64, 8, 4, "1e-5");
  Block block = random_block(64, 64, 8, 4, 1e-2, 0.1, rng);
  const auto solved = [&](uint64_t pull) {
    std::vector<int64_t> theta_u(64);
    EXPECT_TRUE(GroupObs(deployment, pull).solve(std::span<const int16_t>(block.factor), block.view(), theta_u).ok());
    return theta_u;
  };
  const std::vector<int64_t> plain = solved(0);
  block.guide.assign(64, 0);
  EXPECT_EQ(solved(0), plain);
  block.guide.assign(64, 1 << 20);
  for (const uint32_t m : block.masked) block.guide[m] = 0;
  EXPECT_EQ(solved(0), plain);
  EXPECT_NE(solved(16129), plain);
}

TEST(GroupObs, WithoutMaskNothingMoves) {
  std::mt19937_64 rng(2);
  const Deployment deployment = deployment_of(16, 8, 4, "1e-5");
  const Block block = random_block(16, 16, 8, 4, 1e-2, 0, rng);
  GroupObs solver(deployment);
  std::vector<int64_t> theta_u(16);
  const auto outcome = solver.solve(std::span<const int16_t>(block.factor), {block.theta, {}, {}}, theta_u);
  ASSERT_TRUE(outcome.ok());
  EXPECT_EQ(theta_u, block.theta);
  EXPECT_EQ(outcome->residual, Wide());
}

TEST(GroupObs, WithoutCurvatureItOnlyMasks) {
  const Deployment deployment = deployment_of(16, 8, 4, "1e-5");
  GroupObs solver(deployment);
  const std::vector<int16_t> factor(triangle_size(16), 0);
  const std::vector<int64_t> theta(16, 1000);
  std::vector<int64_t> theta_u(16), want = theta;
  want[3] = want[9] = 0;
  ASSERT_TRUE(solver.solve(std::span<const int16_t>(factor), {theta, std::vector<uint32_t>{3, 9}, {}}, theta_u).ok());
  EXPECT_EQ(theta_u, want);
}

// Bounds tighter and tighter: coordinate rounding first, then along the factor, then an error. Never a worse answer.
TEST(GroupObs, RoundsAlongTheFactorWhenItMust) {
  std::mt19937_64 rng(3);
  int by_coordinate = 0, along_factor = 0, refused = 0;
  for (const char* bound : {"1e-5", "1e-6", "1e-7", "3e-8", "1e-8", "3e-9", "1e-9", "3e-10", "1e-10"}) {
    const Deployment deployment = deployment_of(64, 12, 256, bound);
    for (int k = 0; k < 5; ++k) {
      const Block block = random_block(64, 64, 12, 256, 1e-2, 0.1, rng);
      GroupObs solver(deployment);
      std::vector<int64_t> theta_u(64);
      const auto outcome = solver.solve(std::span<const int16_t>(block.factor), block.view(), theta_u);
      if (!outcome.ok()) {
        EXPECT_NE(outcome.error().message.find("no rounding meets"), std::string::npos);
        ++refused;
        continue;
      }
      expect_honest(block, deployment, theta_u, *outcome);
      ++(outcome->nearest_plane ? along_factor : by_coordinate);
      EXPECT_LE(distance(block, 256, theta_u), deployment.parameters().error.approximate());
    }
  }
  EXPECT_GT(by_coordinate, 0);
  EXPECT_GT(along_factor, 0);
  EXPECT_GT(refused, 0);
}

// A condition number beyond single precision.
TEST(GroupObs, FallsBackToDoublePrecision) {
  std::mt19937_64 rng(4);
  const Deployment deployment = deployment_of(64, 16, 1, "100");
  Block block = random_block(64, 64, 16, 1, 1e-3, 0.1, rng);
  // Nearly dependent rows of large entries: A has eigenvalues from 1 to 2^36.
  for (size_t j = 0; j < 64; ++j)
    for (size_t l = 0; l <= j; ++l)
      block.factor[triangle_size(j) + l] = static_cast<int16_t>(l < 2    ? 30000 + static_cast<int>(rng() % 2000)
                                                                : l == j ? 1
                                                                         : 0);
  GroupObs solver(deployment);
  std::vector<int64_t> theta_u(64);
  const auto outcome = solver.solve(std::span<const int16_t>(block.factor), block.view(), theta_u);
  ASSERT_TRUE(outcome.ok()) << outcome.error().message;
  EXPECT_TRUE(outcome->double_precision);
  expect_honest(block, deployment, theta_u, *outcome);
}

TEST(GroupObs, RefusesWeightsThatLeaveTheirBits) {
  // Two weights tied together: masking one moves the other by as much, out of range.
  const Deployment deployment = deployment_of(4, 8, 1, "1e-2", {.fraction_bits = 36, .width = 40});
  std::vector<int16_t> factor(triangle_size(4));  // a part of a block
  factor[0] = 100;
  factor[1] = -100;
  GroupObs solver(deployment);
  const int64_t most = deployment.parameters().weights.max();
  std::vector<int64_t> theta_u(2);
  const auto outcome = solver.solve(std::span<const int16_t>(factor),
                                    {std::vector<int64_t>{most, -most}, std::vector<uint32_t>{0}, {}}, theta_u);
  ASSERT_FALSE(outcome.ok());
  EXPECT_NE(outcome.error().message.find("leave its 40 bits"), std::string::npos) << outcome.error().message;
}

TEST(GroupObs, RefusesGuidesThatDoNotFit) {
  const Deployment deployment = deployment_of(4, 8, 1, "1e-2");
  const std::vector<int16_t> factor(triangle_size(4), 1);
  const auto reason = [&](std::vector<int64_t> guide) {
    const std::vector<int64_t> theta = {1, 2, 3, 4};
    const std::vector<uint32_t> masked = {1};
    std::vector<int64_t> out(4);
    return refusal(GroupObs(deployment, 5).solve(std::span<const int16_t>(factor), {theta, masked, guide}, out));
  };
  EXPECT_EQ(reason({1, 0, 1, 1}), "(accepted)");
  EXPECT_EQ(reason({1, 0, 1}), "a guide of 3 does not fit 4 weights");
  EXPECT_EQ(reason({1, 7, 1, 1}), "the guide moves weight 1, which the mask removes");
  EXPECT_EQ(reason({1, 0, 1, int64_t{1} << 40}), "the guide of weight 3 is out of range");
}

TEST(GroupObs, RefusesMalformedBlocks) {
  const Deployment deployment = deployment_of(4, 8, 1, "1e-2");
  GroupObs solver(deployment);
  const std::vector<int16_t> factor(triangle_size(4), 1);
  const auto refused = [&](std::span<const int16_t> f, std::vector<int64_t> theta, std::vector<uint32_t> masked) {
    std::vector<int64_t> out(theta.size());
    return !solver.solve(f, {theta, masked, {}}, out).ok();
  };
  EXPECT_FALSE(refused(factor, {1, 2, 3, 4}, {0, 3}));
  EXPECT_TRUE(refused(factor, {1, 2, 3, 4}, {3, 0}));
  EXPECT_TRUE(refused(factor, {1, 2, 3, 4}, {1, 1}));
  EXPECT_TRUE(refused(factor, {1, 2, 3}, {3}));
  EXPECT_TRUE(refused(factor, {}, {}));
  EXPECT_TRUE(refused(factor, {1, 2, 3, 4, 5}, {}));
  EXPECT_TRUE(refused(std::span(factor).first(9), {1, 2, 3, 4}, {0}));
  for (const auto& masked : {std::vector<uint32_t>{0}, {}})
    EXPECT_TRUE(refused(factor, {1, int64_t{1} << 39, 3, 4}, masked));
}

}  // namespace
}  // namespace zkapex
