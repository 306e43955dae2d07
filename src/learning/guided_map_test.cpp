#include "learning/guided_map.h"

#include "data/folders_testing.h"
#include "learning/apply_to_model.h"
#include "learning/fisher_store.h"
#include "learning/mask_tensors.h"
#include "learning/model_files.h"
#include "learning/synthetic.h"
#include "learning/tensor_testing.h"
#include "unlearning/guide_from.h"

namespace zkapex {
namespace {

constexpr uint64_t kPull = 127 * 127;

// A client with its store, and a mask of every seventh weight.
class GuidedMapTest : public ::testing::Test {
 protected:
  GuidedMapTest() : directory_("guided_map"), pool_(2), model_(tiny_vit(1)) {
    write_synthetic_idx(directory_.path(), "train", 24, 3);
    EXPECT_TRUE(save_model(*model_, folder()).ok());
    const auto checkpoint = Checkpoint::open(folder());
    std::vector<TensorInfo> tensors;
    for (const TensorView& view : checkpoint->tensors()) tensors.push_back(view.info());
    // Blocks that do not divide a tensor's 384 weights.
    auto layout = Layout::make(tensors, *cover_preset("vit"), {.block = 20, .row = 1024});
    EXPECT_TRUE(layout.ok()) << layout.error().message;
    auto deployment = Deployment::make(std::move(*layout), {});
    EXPECT_TRUE(deployment.ok()) << deployment.error().message;
    deployment_ = std::make_unique<Deployment>(std::move(*deployment));
    const Samples samples = open_samples(directory_.path(), "train", range(0, 24));
    const auto made = write_fisher_store(*model_, samples.batches(8), *deployment_, {}, store(), pool_);
    EXPECT_TRUE(made.ok()) << made.error().message;
    request_.deployment = deployment_->digest();
    request_.window = "w";
    for (uint64_t k = 0; k < deployment_->layout().coordinates(); k += 7) request_.support.push_back(k);
  }
  [[nodiscard]] std::filesystem::path folder() const { return directory_.path() / "model"; }
  [[nodiscard]] std::filesystem::path store() const { return directory_.path() / "store"; }
  [[nodiscard]] GuidedMap map() const {
    auto made = GuidedMap::make(*deployment_, request_.support, kPull, *StoreReader::open(store()), *model_);
    EXPECT_TRUE(made.ok()) << made.error().message;
    return std::move(*made);
  }

  TemporaryDirectory directory_;
  ThreadPool pool_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Deployment> deployment_;
  Mask request_;
};

TEST_F(GuidedMapTest, IsTheOperator) {
  const GuidedMap map = this->map();
  const auto covered = covered_by(*model_, deployment_->layout());
  // A guide that a ternary one holds exactly: ±2^-6 on every third weight.
  const std::unique_ptr<Model> displaced = clone(*model_), expected = clone(*model_);
  std::vector<Tensor> guides;
  for (size_t k = 0; k < covered->size(); ++k) {
    const Tensor& weight = *displaced->parameters().find((*covered)[k]);
    const Tensor place = at::arange(weight.numel());
    const Tensor sign = (place.remainder(3) == 0).to(at::kFloat) * (1 - 2 * place.remainder(2)).to(at::kFloat);
    guides.push_back((sign * 0x1p-6).view(weight.sizes()));
    weight.add_(guides.back());
  }
  ASSERT_TRUE(save_model(*displaced, directory_.path() / "displaced").ok());
  request_.op = Operator::kGuided;
  request_.guidance.emplace().pull = kPull;
  auto guide = guide_from(*deployment_, request_.support, *Checkpoint::open(directory_.path() / "displaced"),
                          *Checkpoint::open(folder()), 1);
  ASSERT_TRUE(guide.ok()) << guide.error().message;
  request_.guidance->guide = std::move(*guide);
  const auto applied =
      apply_to_model(*deployment_, request_, store(), folder() / "model.safetensors", *expected, pool_);
  ASSERT_TRUE(applied.ok()) << applied.error().message;
  const auto masks = mask_tensors(request_, *deployment_);
  for (size_t k = 0; k < covered->size(); ++k) {
    const Tensor got = map.weights(k, guides[k] * (1 - (*masks)[k].to(at::kFloat)));
    const Tensor& want = *expected->parameters().find((*covered)[k]);
    // Magnitudes have four bits: a block's is up to a part in 2^4 smaller than what was asked for.
    EXPECT_LT((got - want).abs().max().item<double>(), 2e-4) << (*covered)[k];
    EXPECT_EQ((got * (*masks)[k]).abs().max().item<double>(), 0);
  }
}

TEST_F(GuidedMapTest, GradientIsItsTranspose) {
  const GuidedMap map = this->map();
  const auto covered = covered_by(*model_, deployment_->layout());
  for (size_t k = 0; k < covered->size(); ++k) {
    const Tensor& weight = *model_->parameters().find((*covered)[k]);
    const Tensor a = at::rand_like(weight), b = at::rand_like(weight), zero = at::zeros_like(weight);
    const double forward = ((map.weights(k, a) - map.weights(k, zero)) * b).sum().item<double>();
    EXPECT_NEAR(forward, (map.guide_gradient(k, b) * a).sum().item<double>(), 1e-3 * std::abs(forward));
  }
}

TEST_F(GuidedMapTest, RefusesAnotherDeploymentsStore) {
  Parameters other;
  other.floor = 5;
  const auto deployment = Deployment::make(deployment_->layout(), other);
  EXPECT_FALSE(GuidedMap::make(*deployment, request_.support, kPull, *StoreReader::open(store()), *model_).ok());
}

}  // namespace
}  // namespace zkapex
