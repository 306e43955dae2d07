#include "learning/fisher.h"

#include "data/folders_testing.h"
#include "learning/model_files.h"
#include "learning/saliency.h"
#include "learning/tensor_testing.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

// A small classifier with odd sizes, and images in batches of five.
class Fisher : public ::testing::Test {
 protected:
  Fisher() {
    const nlohmann::json document = {{"model_type", "vit"},      {"hidden_size", 12},     {"num_hidden_layers", 2},
                                     {"num_attention_heads", 2}, {"image_size", 6},       {"patch_size", 3},
                                     {"intermediate_size", 20},  {"num_channels", 1},     {"num_labels", 3},
                                     {"initializer_range", 0.3}, {"layer_norm_eps", 1e-6}};
    model_ = make_model(*parse_model_config(document), {});
    initialize(*model_, 3);
    at::manual_seed(4);
    for (int k = 0; k < 4; ++k) batches_.push_back({at::randn({5, 1, 6, 6}), at::randint(3, {5}, at::kLong)});
    source_ = [this](const BatchVisitor& visit) -> Status {
      for (const Batch& batch : batches_) ZKAPEX_CHECK(visit(batch));
      return Done{};
    };
  }

  // All samples' gradients of a weight, [m, entries].
  Tensor gradients(const std::string& weight) const {
    std::vector<Tensor> all;
    for (const Batch& batch : batches_) {
      trace_batch(*model_, batch, {weight}, [&](const LayerTrace& trace) {
        all.push_back(trace.samples(0, batch.size(), 0, trace.outputs.size(2)).flatten(1));
      });
    }
    return at::cat(all);
  }

  std::unique_ptr<Model> model_;
  std::vector<Batch> batches_;
  BatchSource source_;
};

TEST_F(Fisher, BlocksAreMeansOfOuterProducts) {
  const std::vector<std::string> covered = model_->mlp_weights();
  for (const int64_t block : {7, 16, 240, 300}) {  // 240 entries: padded, exact, one block, one padded block
    for (const int64_t pending : {1, 3, 64}) {     // flushed at once, across batches, at the end only
      for (const int64_t room : {1, 5, 1000}) {    // blocks in memory at a time: several passes, slices, one
        const int64_t memory = room * 4 * block * (block + pending);
        std::vector<std::vector<Tensor>> slices(covered.size());
        const auto sink = [&](const FisherSlice& slice) -> Status {
          int64_t before = 0;
          for (const Tensor& t : slices[slice.layer]) before += t.size(0);
          EXPECT_EQ(slice.first, before);
          slices[slice.layer].push_back(slice.values);
          return Done{};
        };
        if (room == 1 && block == 7 && pending != 3) continue;  // many passes: once is enough
        const auto report = block_fisher(*model_, source_, covered, {block, memory, pending}, sink);
        ASSERT_TRUE(report.ok()) << report.error().message;
        EXPECT_EQ(report->samples, 20);
        for (size_t k = 0; k < covered.size(); ++k) {
          const Tensor g = gradients(covered[k]);
          const int64_t blocks = (g.size(1) + block - 1) / block;
          const Tensor padded = at::constant_pad_nd(g, {0, blocks * block - g.size(1)}).view({20, blocks, block});
          const Tensor expected = at::einsum("sbi,sbj->bij", {padded, padded}) / 20;
          EXPECT_LT(relative_difference(at::cat(slices[k]), expected), 1e-5) << block << " " << pending << " " << room;
        }
      }
    }
  }
}

TEST(BlockFisherPlan, GoesOnAfterTheBlocksThatAreThere) {
  const auto passes = plan_block_fisher({240, 240}, {.block = 16, .skip = 18});  // 15 blocks each
  ASSERT_EQ(passes->size(), 1U);
  ASSERT_EQ(passes->front().size(), 1U);
  EXPECT_EQ(passes->front()[0].layer, 1U);
  EXPECT_EQ(passes->front()[0].first, 3);
  EXPECT_EQ(passes->front()[0].count, 12);
}

TEST_F(Fisher, DiagonalAndMeanGradient) {
  const std::vector<std::string> covered = model_->mlp_weights();
  const auto fisher = diagonal_fisher(*model_, source_, covered);
  ASSERT_TRUE(fisher.ok()) << fisher.error().message;
  EXPECT_EQ(fisher->samples, 20);
  for (size_t k = 0; k < covered.size(); ++k) {
    const Tensor g = gradients(covered[k]);
    EXPECT_LT(relative_difference(fisher->gradient[k].flatten(), g.mean(0)), 1e-5);
    EXPECT_LT(relative_difference(fisher->diagonal[k].flatten(), g.square().mean(0)), 1e-5);
  }
}

TEST_F(Fisher, RefusesNonFiniteLossesAndTooLittleMemory) {
  const std::vector<std::string> covered = {model_->mlp_weights()[0]};
  const auto sink = [](const FisherSlice&) -> Status { return Done{}; };
  EXPECT_NE(
      block_fisher(*model_, source_, covered, {.block = 64, .memory = 100}, sink).error().message.find("does not hold"),
      std::string::npos);
  batches_[1].inputs.fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(diagonal_fisher(*model_, source_, covered).error().message.find("not finite"), std::string::npos);
  EXPECT_FALSE(block_fisher(*model_, source_, covered, {}, sink).ok());
  batches_.clear();
  EXPECT_NE(diagonal_fisher(*model_, source_, covered).error().message.find("no samples"), std::string::npos);
}

TEST_F(Fisher, SaliencyKinds) {
  const std::vector<std::string> covered = {model_->mlp_weights()[0]};
  const Tensor theta = model_->parameters().find(covered[0])->detach();
  const auto fisher = *diagonal_fisher(*model_, source_, covered);
  const Tensor expected = -fisher.gradient[0] * theta + 0.5 * (fisher.diagonal[0] + 0.25) * theta * theta;
  const auto paper = *saliency(*model_, covered, {.damping = 0.25}, source_, {});
  EXPECT_LT(relative_difference(paper[0], expected), 1e-5);
  const auto ratio =
      *saliency(*model_, covered, {.kind = SaliencyKind::kRetainRatio, .retain_weight = 2}, source_, source_);
  EXPECT_NEAR(ratio[0].median().item<double>(), 0.5, 1e-4);
  EXPECT_FALSE(saliency(*model_, covered, {.kind = SaliencyKind::kRetainRatio}, source_, {}).ok());
  EXPECT_TRUE(at::equal((*saliency(*model_, covered, {.kind = SaliencyKind::kMagnitude}, {}, {}))[0], theta.abs()));
  const SaliencyOptions random{.kind = SaliencyKind::kRandom, .seed = 9};
  EXPECT_TRUE(
      at::equal((*saliency(*model_, covered, random, {}, {}))[0], (*saliency(*model_, covered, random, {}, {}))[0]));
  EXPECT_FALSE(saliency_kind("best").ok());
}

}  // namespace
}  // namespace zkapex
