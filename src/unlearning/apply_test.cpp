#include "unlearning/apply.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <random>

#include "base/result_testing.h"
#include "unlearning/guide_from.h"

namespace zkapex {
namespace {

// Two covered tensors with short last blocks, and one that is not covered.
class ApplyTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (std::filesystem::temp_directory_path() / "zkapex-apply-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;

    std::mt19937_64 rng(1);
    std::normal_distribution<double> normal;
    std::vector<TensorSource> sources;
    for (auto& [info, values] : tensors_) {
      for (uint64_t k = 0; k < *element_count(info); ++k) values.push_back(0.05 * normal(rng));
      data_.emplace_back();
      ASSERT_TRUE(append_elements(info.dtype, values, data_.back()).ok());
    }
    for (size_t k = 0; k < tensors_.size(); ++k) sources.push_back(TensorSource::of(tensors_[k].first, data_[k]));
    ASSERT_TRUE(write_checkpoint(folder_ / "model.safetensors", sources, {}).ok());
    checkpoint_.emplace(*Checkpoint::open(folder_));

    std::vector<TensorInfo> infos;
    for (const auto& [info, values] : tensors_) infos.push_back(info);
    deployment_.emplace(*Deployment::make(*Layout::make(infos, {"m.{i}"}, {.block = 12, .row = 256}), {}));
    const StoreHeader header = store_header_for(*deployment_);
    ASSERT_EQ(header.blocks, 10U + 46U);
    auto writer = StoreWriter::open(folder_ / "store", header, "");
    ASSERT_TRUE(writer.ok());
    FactorMaker maker({.block = 12, .bits = 8, .floor = deployment_->parameters().floor, .damping = {}});
    std::vector<int16_t> factor(triangle_size(12));
    for (uint64_t b = 0; b < header.blocks; ++b) {
      const size_t size = deployment_->layout().block(b).count;
      std::vector<double> gradients(30 * size);
      for (double& v : gradients) v = normal(rng) + 0.5;
      ASSERT_TRUE(maker.from_gradients(gradients, size, factor).ok());
      ASSERT_TRUE(writer->append(factor).ok());
    }
    ASSERT_TRUE(writer->finish().ok());
    store_.emplace(*StoreReader::open(folder_ / "store"));

    mask_.deployment = deployment_->digest();
    mask_.window = "w1";
    for (uint64_t i = 0; i < deployment_->layout().coordinates(); ++i)
      if (rng() % 20 == 0) mask_.support.push_back(i);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Result<ObsSummary> run(unsigned threads, std::vector<int64_t>& out) {
    ThreadPool pool(threads);
    const auto read = checkpoint_blocks(*deployment_, *checkpoint_);
    if (!read.ok()) return read.error();
    uint64_t next = 0;
    ZKAPEX_TRY(const ObsSummary summary,
               apply_group_obs(
                   *deployment_, mask_, *store_, *read,
                   [&](uint64_t block, std::span<const int64_t> theta, const ObsOutcome&) -> Status {
                     EXPECT_EQ(block, next++);
                     out.insert(out.end(), theta.begin(), theta.end());
                     return Done{};
                   },
                   pool));
    ZKAPEX_CHECK(check_rules(*deployment_, mask_, summary.groups));
    return summary;
  }

  Path folder_;
  std::vector<std::pair<TensorInfo, std::vector<double>>> tensors_ = {
      {{"m.0", Dtype::kF32, {10, 11}}, {}}, {{"m.1", Dtype::kF64, {551}}, {}}, {{"x", Dtype::kF16, {7}}, {}}};
  std::vector<Bytes> data_;
  std::optional<Checkpoint> checkpoint_;
  std::optional<Deployment> deployment_;
  std::optional<StoreReader> store_;
  Mask mask_;
};

TEST_F(ApplyTest, MasksEverythingAndMovesTheRest) {
  std::vector<int64_t> theta_u;
  const auto summary = run(2, theta_u);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary->blocks, 56U);
  EXPECT_GT(summary->masked_blocks, 10U);
  EXPECT_LT(summary->masked_blocks, 56U);
  EXPECT_LE(summary->largest_residual, deployment_->residual_bound());
  ASSERT_EQ(theta_u.size(), deployment_->layout().coordinates());

  const FixedPoint format = deployment_->parameters().weights;
  Wide moved, removed;
  size_t m = 0;
  for (uint64_t i = 0; i < theta_u.size(); ++i) {
    const auto place = deployment_->layout().place(i);
    int64_t theta_p = 0;
    ASSERT_TRUE(format.read(checkpoint_->tensors()[place.tensor], place.element, std::span(&theta_p, 1)).ok());
    if (m < mask_.support.size() && mask_.support[m] == i) {
      ++m;
      EXPECT_EQ(theta_u[i], 0) << i;
      removed += Wide::square_of(theta_p);
    } else {
      moved += Wide::square_of(static_cast<int128>(theta_u[i]) - theta_p);
    }
  }
  EXPECT_EQ(summary->sums.moved, moved);
  EXPECT_EQ(summary->sums.removed, removed);
  EXPECT_GT(summary->sums.moved, Wide());
}

TEST_F(ApplyTest, DoesNotDependOnTheNumberOfThreads) {
  std::vector<int64_t> one, three;
  ASSERT_TRUE(run(1, one).ok());
  ASSERT_TRUE(run(3, three).ok());
  EXPECT_EQ(one, three);
}

TEST_F(ApplyTest, TheCapIsExact) {
  std::vector<int64_t> theta_u;
  const auto summary = run(1, theta_u);
  ASSERT_TRUE(summary.ok());
  Parameters p = deployment_->parameters();
  p.cap_numerator = 0;
  const Deployment strict = *Deployment::make(deployment_->layout(), p);
  EXPECT_NE(strict.digest(), deployment_->digest());
  // The store belongs to the other deployment; this is found first.
  mask_.deployment = strict.digest();
  ThreadPool pool(1);
  const auto sink = [](uint64_t, std::span<const int64_t>, const ObsOutcome&) -> Status { return Done{}; };
  const auto read = checkpoint_blocks(strict, *checkpoint_);
  ASSERT_TRUE(read.ok());
  const auto other_store = apply_group_obs(strict, mask_, *store_, *read, sink, pool);
  ASSERT_FALSE(other_store.ok());
  EXPECT_NE(other_store.error().message.find("another deployment"), std::string::npos);

  auto writer = StoreWriter::open(folder_ / "again", store_header_for(strict), "");
  ASSERT_TRUE(writer.ok());
  std::vector<int16_t> factors(56 * triangle_size(12));
  ASSERT_TRUE(store_->read(0, 56, std::span(factors)).ok());
  ASSERT_TRUE(writer->append(factors).ok());
  ASSERT_TRUE(writer->finish().ok());
  const StoreReader copied = *StoreReader::open(folder_ / "again");
  const auto applied = apply_group_obs(strict, mask_, copied, *read, sink, pool);
  ASSERT_TRUE(applied.ok()) << applied.error().message;
  const Status capped = check_rules(strict, mask_, applied->groups);
  ASSERT_FALSE(capped.ok());
  EXPECT_NE(capped.error().message.find("cap"), std::string::npos) << capped.error().message;
}

TEST_F(ApplyTest, AnotherModelIsRefused) {
  const auto layout = Layout::make({{"m.0", Dtype::kF32, {10, 12}}}, {"m.{i}"}, {.block = 12, .row = 256});
  const auto other = Deployment::make(*layout, {});
  ASSERT_TRUE(other.ok()) << other.error().message;
  EXPECT_NE(testing::refusal(checkpoint_blocks(*other, *checkpoint_)).find("tensor 'm.0' has shape"),
            std::string::npos);
}

// What clients add to a model stands in the layout, and not in the model that they began with.
TEST_F(ApplyTest, TensorsAreFoundByName) {
  std::vector<TensorInfo> infos{{"a.branch", Dtype::kF32, {3}}};
  for (const auto& [info, values] : tensors_) infos.push_back(info);
  const Deployment wider = *Deployment::make(*Layout::make(infos, {"m.{i}"}, {.block = 12, .row = 256}), {});
  const auto expected = checkpoint_blocks(*deployment_, *checkpoint_), read = checkpoint_blocks(wider, *checkpoint_);
  ASSERT_TRUE(expected.ok() && read.ok());
  for (uint64_t b = 0; b < wider.layout().blocks(); ++b) {
    std::vector<int64_t> one(wider.layout().block(b).count), other(one.size());
    ASSERT_TRUE((*expected)(b, one).ok() && (*read)(b, other).ok());
    EXPECT_EQ(one, other) << b;
  }
}

TEST_F(ApplyTest, ErrorsNameTheBlock) {
  ThreadPool pool(2);
  const auto sink = [](uint64_t, std::span<const int64_t>, const ObsOutcome&) -> Status { return Done{}; };
  const BlockReader read = [](uint64_t block, std::span<int64_t> theta) -> Status {
    if (block >= 11) return error("unreadable");
    std::fill(theta.begin(), theta.end(), 5);
    return Done{};
  };
  const auto result = apply_group_obs(*deployment_, mask_, *store_, read, sink, pool);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.error().message, "block 11 ('m.1' from element 12): unreadable");
  mask_.deployment.fill(0);
  EXPECT_NE(apply_group_obs(*deployment_, mask_, *store_, read, sink, pool).error().message.find("deployment"),
            std::string::npos);
}

Guidance guidance_to(const Deployment& deployment, const Mask& mask, double displacement) {
  GuideMaker maker(deployment, mask.support);
  for (uint64_t b = 0; b < deployment.layout().blocks(); ++b) {
    EXPECT_TRUE(maker.add_block(std::vector<double>(deployment.layout().block(b).count, displacement)).ok());
  }
  return {.pull = 4000, .progress = 0, .distance = 5000, .distance_removed = 1000, .guide = maker.finish()};
}

TEST_F(ApplyTest, FollowsAGuideWhereTheCurvatureIsFlat) {
  std::vector<int64_t> plain, followed, pulled;
  ASSERT_TRUE(run(2, plain).ok());
  mask_.op = Operator::kGuided;
  mask_.guidance = guidance_to(*deployment_, mask_, 0.01);
  const auto summary = run(2, followed);
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_LE(summary->largest_residual, deployment_->residual_bound(4000));
  ASSERT_EQ(summary->groups.size(), 2U);
  for (const RuleSums& sums : summary->groups) {
    EXPECT_GT(sums.forward, sums.backward);
    EXPECT_GT(sums.guide, Wide());
  }
  // The stronger the pull, the further along.
  mask_.guidance->pull = 400'000;
  const auto stronger = run(2, pulled);
  ASSERT_TRUE(stronger.ok()) << stronger.error().message;
  for (size_t g = 0; g < 2; ++g) {
    const RuleSums &weak = summary->groups[g], &strong = stronger->groups[g];
    EXPECT_GT(strong.forward + weak.backward, weak.forward + strong.backward);
  }
  // Without a pull and a guide, nothing is different.
  mask_.guidance = guidance_to(*deployment_, mask_, 0);
  mask_.guidance->pull = 0;
  std::vector<int64_t> same;
  ASSERT_TRUE(run(2, same).ok());
  EXPECT_EQ(same, plain);
}

TEST_F(ApplyTest, AStepThatDoesNotMeetTheRulesIsRefused) {
  mask_.op = Operator::kGuided;
  const auto says = [&](std::string_view part) {
    std::vector<int64_t> out;
    const auto summary = run(2, out);
    ASSERT_FALSE(summary.ok());
    EXPECT_NE(summary.error().message.find(part), std::string::npos) << summary.error().message;
  };
  mask_.guidance = guidance_to(*deployment_, mask_, 0.01);
  mask_.guidance->progress = 1000;
  says("rule on its progress");
  mask_.guidance = guidance_to(*deployment_, mask_, 0.01);
  mask_.guidance->distance = mask_.guidance->distance_removed = 0;
  says("'m.0' does not meet the request's rule on its distance");
}

TEST_F(ApplyTest, TheWayBetweenTwoCheckpointsIsAGuide) {
  std::vector<TensorSource> sources;
  std::vector<Bytes> data;
  for (const auto& [info, values] : tensors_) {
    std::vector<double> moved = values;
    for (size_t k = 0; k < moved.size(); ++k) moved[k] += k % 2 == 0 ? 0.25 : -0.25;
    ASSERT_TRUE(append_elements(Dtype::kF64, moved, data.emplace_back()).ok());
  }
  for (size_t k = 0; k < tensors_.size(); ++k) {
    TensorInfo info = tensors_[k].first;
    info.dtype = Dtype::kF64;
    sources.push_back(TensorSource::of(info, data[k]));
  }
  ASSERT_TRUE(write_checkpoint(folder_ / "unlearned.safetensors", sources, {}).ok());
  const Checkpoint unlearned = *Checkpoint::open(folder_ / "unlearned.safetensors");
  const auto guide = guide_from(*deployment_, mask_.support, unlearned, *checkpoint_, 0.5);
  ASSERT_TRUE(guide.ok()) << guide.error().message;
  ASSERT_TRUE(guide->check_for(*deployment_, mask_.support).ok());
  const GuideReader reader(deployment_->layout(), mask_.support, *guide);
  for (uint64_t b = 0; b < deployment_->layout().blocks(); ++b) {
    const Layout::Block block = deployment_->layout().block(b);
    std::vector<int64_t> delta(block.count);
    reader.read(b, delta);
    for (uint64_t k = 0; k < block.count; ++k) {
      const bool masked = std::ranges::binary_search(mask_.support, block.first_coordinate + k);
      const double expected = masked ? 0 : (block.first + k) % 2 == 0 ? 0.125 : -0.125;
      EXPECT_NEAR(deployment_->parameters().weights.to_double(delta[k]), expected, 2e-3);
    }
  }
}

}  // namespace
}  // namespace zkapex
