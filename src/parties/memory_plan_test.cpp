#include "parties/memory_plan.h"

#include <gtest/gtest.h>

#include "base/memory.h"
#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

// A layer of ViT-B/16 with blocks of 256, as `bench window --layers 1` has it, and all twelve.
class MemoryPlanTest : public ::testing::Test {
 protected:
  MemoryPlanTest() { settings_.pool = &pool_; }

  static Deployment vit(unsigned layers) {
    std::vector<TensorInfo> tensors;
    for (unsigned k = 0; k < layers; ++k) {
      tensors.push_back({fmt::format("layers.{}.fc1", k), Dtype::kF32, {3072, 768}});
      tensors.push_back({fmt::format("layers.{}.fc2", k), Dtype::kF32, {768, 3072}});
    }
    return *Deployment::make(*Layout::make(tensors, {"layers.{i}.*"}, {.block = 256, .row = 1 << 17}), {});
  }
  static Mask mask(const Deployment& deployment) {
    Mask out;
    out.deployment = deployment.digest();
    out.window = "w";
    for (uint64_t k = 0; k < deployment.layout().coordinates(); k += 25) out.support.push_back(k);
    return out;
  }
  Result<WindowPlan> plan(const Deployment& deployment, const std::string& memory) {
    settings_.memory = memory.empty() ? std::optional<uint64_t>() : *parse_size(memory);
    return plan_window(deployment, mask(deployment), settings_);
  }

  ThreadPool pool_{2};
  WorkSettings settings_;
};

TEST_F(MemoryPlanTest, MoreMemoryMakesFewerSegmentsAndShorterProofs) {
  const Deployment layer = vit(1);
  size_t segments = ~size_t{0}, bytes = ~size_t{0};
  for (const std::string memory : {"80M", "100M", "160M", "320M", "640M"}) {
    const Result<WindowPlan> cut = plan(layer, memory);
    ASSERT_TRUE(cut.ok()) << cut.error().message;
    EXPECT_LE(window_memory(layer, *cut, mask(layer).support.size(), 2), *settings_.memory) << memory;
    EXPECT_LE(cut->segments().size(), segments) << memory;
    EXPECT_LE(cut->shape().bytes(), bytes) << memory;
    segments = cut->segments().size();
    bytes = cut->shape().bytes();
  }
  EXPECT_EQ(segments, 1U);
}

TEST_F(MemoryPlanTest, TooLittleIsRefusedAndTheLeastThatIsNamedWorks) {
  const Deployment layer = vit(1);
  const Result<WindowPlan> refused = plan(layer, "40M");
  EXPECT_NE(refusal(refused).find("of memory are needed with 2 threads, but the budget is 40.0 MiB; raise it with "
                                  "--memory, or give fewer --threads"),
            std::string::npos)
      << refusal(refused);
  uint64_t least = uint64_t{40} << 20;
  while (settings_.memory = least, !plan_window(layer, mask(layer), settings_)) least += uint64_t{1} << 20;
  const std::string named = refusal(plan(layer, "40M"));
  const double told = std::stod(named.substr(std::string("at least ").size()));
  EXPECT_NEAR(told, static_cast<double>(least) / (1 << 20), 1.1) << named;
}

TEST_F(MemoryPlanTest, WithoutABudgetTheUsualIsKeptToWhereItCanBe) {
  const Deployment all = vit(12);
  const Result<WindowPlan> usual = plan(all, "");
  ASSERT_TRUE(usual.ok()) << usual.error().message;
  EXPECT_LE(window_memory(all, *usual, mask(all).support.size(), 2), WorkSettings::kUsualMemory);
  EXPECT_FALSE(plan(all, "80M").ok());
  // Each of many threads takes some; nothing is refused for that.
  ThreadPool many(32);
  settings_.pool = &many;
  EXPECT_TRUE(plan(all, "").ok());
  settings_.pool = &pool_;
}

TEST_F(MemoryPlanTest, RegistrationsAreRefusedInTheSameWay) {
  const Deployment layer = vit(1);
  settings_.memory = uint64_t{30} << 20;
  EXPECT_NE(refusal(plan_registration(layer, settings_)).find("at least "), std::string::npos);
  settings_.memory = uint64_t{400} << 20;
  const Result<RegistrationPlan> enough = plan_registration(layer, settings_);
  ASSERT_TRUE(enough.ok()) << enough.error().message;
  EXPECT_LE(registration_memory(layer, *enough, 2), *settings_.memory);
  const uint64_t batch = registration_batch(layer, *enough, settings_);
  EXPECT_LE(committing_memory(*enough, batch, 2), *settings_.memory);
}

TEST_F(MemoryPlanTest, EstimatesAddUp) {
  const Deployment one = vit(1), twelve = vit(12);
  const Rates rates{.product = 20, .entry = 40};
  const auto estimate = [&](const Deployment& deployment) {
    return estimate_window(deployment, *plan(deployment, "640M"), 1000, pool_, rates);
  };
  const Estimate small = estimate(one), large = estimate(twelve);
  EXPECT_EQ(small.proof_bytes, plan(one, "640M")->shape().bytes());
  EXPECT_GT(large.seconds, 8 * small.seconds);  // less than twelve times: the opening is the same
  EXPECT_LT(large.seconds, 12 * small.seconds);
  EXPECT_GT(large.disk_bytes, small.disk_bytes);
  EXPECT_GT(Rates::measure().product, 0);
  EXPECT_GT(Rates::measure().entry, 0);
}

}  // namespace
}  // namespace zkapex
