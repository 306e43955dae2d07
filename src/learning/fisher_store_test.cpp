#include "learning/fisher_store.h"

#include "base/result_testing.h"
#include "curvature/store.h"
#include "data/folders_testing.h"
#include "learning/mask_tensors.h"
#include "learning/model_files.h"
#include "learning/synthetic.h"
#include "learning/tensor_files.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

using testing::refusal;

class FisherStore : public ::testing::Test {
 protected:
  FisherStore() : directory_("fisher_store"), pool_(2), model_(tiny_vit(1)) {
    write_synthetic_idx(directory_.path(), "train", 24, 3);
    EXPECT_TRUE(save_model(*model_, directory_.path() / "model").ok());
    const auto checkpoint = Checkpoint::open(directory_.path() / "model");
    for (const TensorView& view : checkpoint->tensors()) tensors_.push_back(view.info());
    auto deployment = Deployment::make(layout(tensors_, *cover_preset("vit")), {});
    EXPECT_TRUE(deployment.ok()) << deployment.error().message;
    deployment_ = std::make_unique<Deployment>(std::move(*deployment));
  }
  [[nodiscard]] static Layout layout(const std::vector<TensorInfo>& tensors, const CoverPatterns& cover) {
    auto made = Layout::make(tensors, cover, {.block = 16, .row = 256});
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(*made);
  }
  [[nodiscard]] BatchSource batches() const {
    return open_samples(directory_.path(), "train", range(0, 24)).batches(8);
  }
  [[nodiscard]] std::vector<int16_t> factors(const std::filesystem::path& path) const {
    const auto store = StoreReader::open(path);
    std::vector<int16_t> out(store->header().blocks * triangle_size(16));
    EXPECT_TRUE(store->read(0, store->header().blocks, std::span<int16_t>(out)).ok());
    return out;
  }

  TemporaryDirectory directory_;
  ThreadPool pool_;
  std::unique_ptr<Model> model_;
  std::vector<TensorInfo> tensors_;
  std::unique_ptr<Deployment> deployment_;
};

TEST_F(FisherStore, HoldsTheFactorsOfTheBlocksInTheOrderOfTheLayout) {
  const auto path = directory_.path() / "store";
  uint64_t advanced = 0;
  const auto report =
      write_fisher_store(*model_, batches(), *deployment_, {}, path, pool_, [&](uint64_t n) { advanced += n; });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(advanced, deployment_->layout().blocks());
  EXPECT_EQ(report->fisher.samples, 24);
  EXPECT_EQ(report->factors.blocks, deployment_->layout().blocks());
  EXPECT_EQ(report->factors.rank_deficient, 0U);  // 24 samples, blocks of 16
  EXPECT_GE(report->factors.largest_condition, 1);

  const std::vector<int16_t> found = factors(path);
  const auto covered = covered_by(*model_, deployment_->layout());
  ASSERT_TRUE(covered.ok()) << covered.error().message;
  FactorMaker maker({.block = 16, .bits = 8, .floor = 4, .damping = {}});
  std::vector<int16_t> expected(triangle_size(16));
  size_t block = 0;
  const FisherSink sink = [&](const FisherSlice& slice) -> Status {
    for (int64_t k = 0; k < slice.values.size(0); ++k, ++block) {
      const Tensor f = slice.values[k].to(at::kDouble).contiguous();
      const std::span<const double> matrix(f.data_ptr<double>(), 256);
      EXPECT_TRUE(maker.from_matrix(matrix, 16, expected).ok());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(),
                             found.begin() + static_cast<std::ptrdiff_t>(block * expected.size())));
    }
    return Done{};
  };
  ASSERT_TRUE(block_fisher(*model_, batches(), *covered, {.block = 16}, sink).ok());
  EXPECT_EQ(block, deployment_->layout().blocks());
}

TEST_F(FisherStore, IsTheSameInLittleMemoryAndWhenResumed) {
  ASSERT_TRUE(write_fisher_store(*model_, batches(), *deployment_, {}, directory_.path() / "whole", pool_).ok());
  FisherStoreOptions little{.damping = {}, .memory = 40 * 4 * 16 * (16 + 64), .run = {}};  // 40 blocks at a time
  int calls = 0;
  const BatchSource broken = [&](const BatchVisitor& visit) -> Status {
    if (++calls == 3) return error("stopped");
    return batches()(visit);
  };
  const auto path = directory_.path() / "resumed";
  EXPECT_EQ(refusal(write_fisher_store(*model_, broken, *deployment_, little, path, pool_)), "stopped");
  const auto report = write_fisher_store(*model_, batches(), *deployment_, little, path, pool_);
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(report->resumed_at, 80U);
  EXPECT_EQ(factors(path), factors(directory_.path() / "whole"));
}

TEST_F(FisherStore, MasksAsTensors) {
  Mask mask;
  mask.deployment = deployment_->digest();
  mask.window = "w1";
  const Layout& layout = deployment_->layout();
  const LayoutTensor& second = layout.tensors()[layout.covered()[1]];
  mask.support = {0, second.first_coordinate + 5};
  const auto tensors = mask_tensors(mask, *deployment_);
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  EXPECT_EQ((*tensors)[0].flatten()[0].item<int>(), 1);
  EXPECT_EQ((*tensors)[0].sum().item<int64_t>(), 1);
  EXPECT_EQ((*tensors)[1].flatten()[5].item<int>(), 1);
  EXPECT_EQ((*tensors)[2].sum().item<int64_t>(), 0);
  mask.deployment[0] ^= 1;
  EXPECT_NE(refusal(mask_tensors(mask, *deployment_)).find("was made for deployment"), std::string::npos);
}

TEST_F(FisherStore, RefusesWhatCannotBeFactored) {
  const auto message = [&](Model& model, const FisherStoreOptions& options) {
    return refusal(write_fisher_store(model, batches(), *deployment_, options, directory_.path() / "none", pool_));
  };
  const FisherStoreOptions negative{.damping = {Damping::Kind::kRelative, -1}, .run = {}};
  EXPECT_NE(message(*model_, negative).find("a damping of -1"), std::string::npos);
  const auto other = make_model(tiny_vit_config(2), {});
  initialize(*other, 1);
  EXPECT_NE(message(*other, {}).find("'classifier.bias' has another shape"), std::string::npos);
  // Losses are finite, and so are gradients, but their squares are not.
  model_->parameters().find("classifier.weight")->mul_(1e25);
  EXPECT_NE(message(*model_, {}).find("of the Fisher block is not finite"), std::string::npos);
}

TEST_F(FisherStore, LayoutsOfOtherModelsAreRefused) {
  const CoverPatterns mlp = *cover_preset("vit");
  std::vector<TensorInfo> tensors = tensors_;
  tensors.pop_back();
  EXPECT_NE(refusal(covered_by(*model_, layout(tensors, mlp))).find("tensors of the model's"), std::string::npos);
  tensors = tensors_;
  tensors[0].name = "stranger";
  EXPECT_NE(refusal(covered_by(*model_, layout(tensors, mlp))).find("no tensor 'stranger'"), std::string::npos);
  tensors = tensors_;
  tensors[0].shape = {4};
  EXPECT_NE(refusal(covered_by(*model_, layout(tensors, mlp))).find("'classifier.bias' has another shape"),
            std::string::npos);
  EXPECT_NE(refusal(covered_by(*model_, layout(tensors_, {"classifier.weight"}))).find("but no linear map"),
            std::string::npos);
}

}  // namespace
}  // namespace zkapex
