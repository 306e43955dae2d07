#include "learning/fisher_store.h"

#include "curvature/store.h"
#include "data/folders_testing.h"
#include "learning/mask_tensors.h"
#include "learning/model_files.h"
#include "learning/synthetic.h"
#include "learning/tensor_files.h"

namespace zkapex {
namespace {

class FisherStore : public testing::Test {
 protected:
  FisherStore() : directory_("fisher_store"), pool_(2), model_(tiny_vit(1)) {
    write_synthetic_idx(directory_.path(), "train", 24, 3);
    EXPECT_TRUE(save_model(*model_, directory_.path() / "model").ok());
    const auto checkpoint = Checkpoint::open(directory_.path() / "model");
    std::vector<TensorInfo> infos;
    for (const TensorView& view : checkpoint->tensors()) infos.push_back(view.info());
    auto layout = Layout::make(infos, *cover_preset("vit"), {.block = 16, .row = 256});
    EXPECT_TRUE(layout.ok()) << layout.error().message;
    auto deployment = Deployment::make(std::move(*layout), {});
    EXPECT_TRUE(deployment.ok()) << deployment.error().message;
    deployment_ = std::make_unique<Deployment>(std::move(*deployment));
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
  EXPECT_EQ(write_fisher_store(*model_, broken, *deployment_, little, path, pool_).error().message, "stopped");
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
  EXPECT_FALSE(mask_tensors(mask, *deployment_).ok());
}

}  // namespace
}  // namespace zkapex
