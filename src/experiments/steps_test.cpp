#include "experiments/steps.h"

#include <gtest/gtest.h>

#include "data/folders_testing.h"
#include "learning/apply_to_model.h"
#include "learning/model_files.h"
#include "learning/synthetic.h"
#include "learning/torch.h"
#include "parties/register_client.h"
#include "parties/unlearn.h"
#include "tables/folders.h"

namespace zkapex {
namespace {

// What experiments compute without a proof is what a client's command writes with one.
TEST(Steps, TheOperatorGivesTheWeightsThatAClientProves) {
  const TemporaryDirectory folder("steps");
  write_synthetic_idx(folder.path(), "train", 80, 1);
  const Samples samples = open_samples(folder.path(), "train", range(0, 80));
  const Path personal = folder.path() / "personal";
  ASSERT_TRUE(make_folder(personal).ok());
  auto model = tiny_vit(3);
  ASSERT_TRUE(save_model(*model, personal).ok());
  const OperatorSettings settings{.ratio = "0.1", .block = 16, .damping = {Damping::Kind::kRelative, 0.1}};
  const auto deployment = vit_deployment(personal / "model.safetensors", settings);
  ASSERT_TRUE(deployment.ok()) << deployment.error().message;
  const auto mask = cut_mask(*model, *deployment, settings.ratio, {}, samples.batches(16), {}, "window");
  ASSERT_TRUE(mask.ok()) << mask.error().message;
  EXPECT_EQ(mask->support.size(), 154U);  // a tenth of 1536

  ThreadPool pool(2);
  WorkSettings work;
  work.pool = &pool;
  const Path store = folder.path() / "curvature.zka";
  ASSERT_TRUE(write_curvature(*model, samples.batches(16), *deployment, settings.damping, store, work, "c").ok());
  const auto applied = apply_to_model(*deployment, *mask, store, personal / "model.safetensors", *model, pool);
  ASSERT_TRUE(applied.ok()) << applied.error().message;
  EXPECT_GT(applied->masked_blocks, 0U);

  const Path published = folder.path() / "deployment.zka", psi = folder.path() / "psi.zka";
  ASSERT_TRUE(write_file(published, deployment->serialize()).ok());
  ASSERT_TRUE(write_file(psi, mask->serialize()).ok());
  const Path state = folder.path() / "state", unlearned = folder.path() / "unlearned";
  const auto registered = register_client({.deployment = published,
                                           .model = personal / "model.safetensors",
                                           .store = store,
                                           .base = personal / "model.safetensors",
                                           .client = "c",
                                           .out = state},
                                          work);
  ASSERT_TRUE(registered.ok()) << registered.error().message;
  ASSERT_TRUE(replace_file(personal / "config.json", unlearned / "config.json").ok());
  const auto proved = unlearn({.client = state,
                               .mask = psi,
                               .model_out = unlearned / "model.safetensors",
                               .proof_out = folder.path() / "proof.zka",
                               .model = {},
                               .store = {}},
                              work);
  ASSERT_TRUE(proved.ok()) << proved.error().message;
  const auto expected = load_model(unlearned);
  ASSERT_TRUE(expected.ok()) << expected.error().message;
  for (const Parameter& parameter : (*expected)->parameters().all())
    EXPECT_TRUE(at::equal(parameter.value, *model->parameters().find(parameter.name))) << parameter.name;
}

}  // namespace
}  // namespace zkapex
