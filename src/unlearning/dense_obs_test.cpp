#include "unlearning/dense_obs.h"

#include <gtest/gtest.h>

#include <cmath>

#include "curvature/factor.h"
#include "unlearning/group_obs.h"
#include "weights/checkpoint.h"

namespace zkapex {
namespace {

constexpr size_t kBlock = 16;

// Blocks of a small ViT, and the step that PyTorch computed for them in double precision.
struct Golden {
  std::vector<double> fisher, theta, delta;
  std::vector<int64_t> mask;
  [[nodiscard]] size_t blocks() const { return theta.size() / kBlock; }
  [[nodiscard]] std::span<const double> fisher_of(size_t b) const { return std::span(fisher).subspan(b * 256, 256); }
  [[nodiscard]] std::span<const double> theta_of(size_t b) const { return std::span(theta).subspan(b * 16, 16); }
  [[nodiscard]] std::vector<uint32_t> masked(size_t b) const {
    std::vector<uint32_t> out;
    for (uint32_t k = 0; k < kBlock; ++k)
      if (mask[b * kBlock + k] != 0) out.push_back(k);
    return out;
  }
  [[nodiscard]] double largest() const {
    double out = 0;
    for (const double v : delta) out = std::max(out, std::fabs(v));
    return out;
  }
};

Golden load_golden() {
  const auto file = Checkpoint::open("src/unlearning/testdata/vit_obs.safetensors");
  EXPECT_TRUE(file.ok()) << file.error().message;
  return {*file->get("block_fisher")->doubles(), *file->get("theta")->doubles(), *file->get("obs_delta")->doubles(),
          *file->get("obs_mask")->integers()};
}

TEST(DenseObs, ReproducesPyTorch) {
  const Golden golden = load_golden();
  size_t masked_blocks = 0;
  for (size_t b = 0; b < golden.blocks(); ++b) {
    std::vector<double> a(golden.fisher_of(b).begin(), golden.fisher_of(b).end());
    double mean = 0;
    for (size_t k = 0; k < kBlock; ++k) mean += a[k * kBlock + k] / kBlock;
    for (size_t k = 0; k < kBlock; ++k) a[k * kBlock + k] += 0.01 * mean;
    const auto x = dense_obs(a, golden.theta_of(b), golden.masked(b));
    ASSERT_TRUE(x.ok()) << x.error().message;
    masked_blocks += golden.masked(b).empty() ? 0 : 1;
    for (size_t k = 0; k < kBlock; ++k)
      EXPECT_NEAR((*x)[k], golden.delta[b * kBlock + k], 1e-4 * golden.largest()) << b << " " << k;
  }
  EXPECT_GT(masked_blocks, golden.blocks() / 4);
}

// The whole way: Fisher block, integer factor, fixed-point weights, exact residuals. What differs from PyTorch's step
// is the rounding of the factor, so more bits come closer.
TEST(GroupObs, ApproachesPyTorchAsBitsGrow) {
  const Golden golden = load_golden();
  const auto layout = Layout::make({{"w", Dtype::kF32, {golden.theta.size()}}}, {"w"}, {.block = kBlock, .row = 256});
  double previous = 1e9;
  for (const unsigned bits : {8U, 12U, 16U}) {
    Parameters p;
    p.curvature_bits = bits;
    p.floor = uint64_t{1} << (2 * (bits - 8));
    const auto deployment = Deployment::make(*layout, p);
    ASSERT_TRUE(deployment.ok());
    FactorMaker maker({.block = kBlock, .bits = bits, .floor = p.floor, .damping = {Damping::Kind::kRelative, 0.01}});
    GroupObs solver(*deployment);
    double worst = 0;
    for (size_t b = 0; b < golden.blocks(); ++b) {
      std::vector<int16_t> factor(triangle_size(kBlock));
      const auto stats = maker.from_matrix(golden.fisher_of(b), kBlock, factor);
      ASSERT_TRUE(stats.ok()) << stats.error().message;
      std::vector<int64_t> theta(kBlock), theta_u(kBlock);
      ASSERT_TRUE(p.weights.from_doubles("w", 0, golden.theta_of(b), theta).ok());
      const auto outcome = solver.solve(std::span<const int16_t>(factor), {theta, golden.masked(b), {}}, theta_u);
      ASSERT_TRUE(outcome.ok()) << outcome.error().message;
      for (size_t k = 0; k < kBlock; ++k)
        worst = std::max(worst, std::fabs(p.weights.to_double(theta_u[k] - theta[k]) - golden.delta[b * kBlock + k]));
    }
    worst /= golden.largest();
    EXPECT_LT(worst, bits == 8 ? 0.2 : bits == 12 ? 1e-2 : 1e-3) << bits;
    EXPECT_LT(worst, previous);
    previous = worst;
  }
}

TEST(DenseObs, RefusesWhatIsNotAProblem) {
  const std::vector<double> theta = {1, 1}, indefinite = {1, 2, 2, 1};
  EXPECT_FALSE(dense_obs(indefinite, theta, {}).ok());
  EXPECT_TRUE(dense_obs(indefinite, theta, std::vector<uint32_t>{0}).ok());
  EXPECT_FALSE(dense_obs(indefinite, theta, std::vector<uint32_t>{2}).ok());
  EXPECT_FALSE(dense_obs(std::span(indefinite).first(3), theta, {}).ok());
  EXPECT_EQ(*dense_obs(indefinite, theta, std::vector<uint32_t>{0, 1}), (std::vector<double>{-1, -1}));
}

}  // namespace
}  // namespace zkapex
