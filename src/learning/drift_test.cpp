#include "learning/drift.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "learning/adaptformer.h"
#include "learning/synthetic.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(Drift, IsTheLargestOfEachKind) {
  const at::NoGradGuard no_grad;
  const auto base = tiny_vit(1);
  const auto model = clone(*base);
  const auto still = drift_from(*base, *model);
  ASSERT_TRUE(still.ok()) << still.error().message;
  EXPECT_EQ(
      still->as_json(),
      (nlohmann::ordered_json{{"matrices", 0.0}, {"vectors", 0.0}, {"added", 0.0}, {"head", 0.0}, {"head_bias", 0.0}}));

  const std::vector<std::string> weights = model->mlp_weights();
  model->parameters().find(weights[0])->mul_(1.25);
  model->parameters().find(weights[1])->mul_(0.5);
  Tensor(*model->parameters().find("classifier.weight")).mul_(1.75);
  Tensor(*model->parameters().find("classifier.bias")).add_(0.25);
  Tensor(*model->parameters().find("vit.layernorm.bias")).add_(0.125);
  ASSERT_TRUE(add_adaptformer(*model, {.bottleneck = 2}).ok());
  model->adapters().front().up.bias.fill_(3);
  const auto drift = drift_from(*base, *model);
  ASSERT_TRUE(drift.ok()) << drift.error().message;
  EXPECT_NEAR(drift->matrices, 0.5, 1e-6);
  EXPECT_NEAR(drift->vectors, 0.125, 1e-6);
  EXPECT_NEAR(drift->added, 3, 1e-6);
  EXPECT_NEAR(drift->head, 0.75, 1e-6);
  EXPECT_NEAR(drift->head_bias, 0.25, 1e-6);
}

TEST(Drift, IsBetweenModelsOfOneShape) {
  const auto base = tiny_vit(1);
  const auto config = with_classes(base->config(), base->config().vit()->classes + 1);
  ASSERT_TRUE(config.ok());
  const auto other = make_model(*config, {});
  EXPECT_EQ(refusal(drift_from(*base, *other)), "'classifier.weight' is in only one of the models");
}

}  // namespace
}  // namespace zkapex
