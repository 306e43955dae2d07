#include "learning/training_state.h"

#include "base/result_testing.h"
#include "data/folders_testing.h"
#include "learning/tensor_files.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(TrainingState, RefusesFilesThatAreNotItsOwn) {
  const TemporaryDirectory directory("training_state");
  const auto file = directory.path() / "state.safetensors";
  const auto sgd = make_sgd({{"p", at::zeros({2})}}, {});
  const TrainingState state(*sgd, "mine");
  std::vector<Parameter> tensors = {{"parameter.p", at::ones({2})}, {"optimizer.momentum.p", at::ones({2})}};
  const auto load = [&](const Metadata& metadata) {
    EXPECT_TRUE(write_tensors(file, tensors, metadata).ok());
    return state.load(file);
  };
  const auto good = load({{"run", "mine"}, {"step", "3"}});
  ASSERT_TRUE(good.ok()) << good.error().message;
  EXPECT_EQ(*good, 3);
  for (const auto& [metadata, part] :
       std::vector<std::pair<Metadata, const char*>>{{{{"step", "3"}}, "not a training checkpoint"},
                                                     {{{"run", "mine"}}, "not a training checkpoint"},
                                                     {{{"run", "other"}, {"step", "3"}}, "another run (other)"},
                                                     {{{"run", "mine"}, {"step", "three"}}, "no step"},
                                                     {{{"run", "mine"}, {"step", "3a"}}, "no step"},
                                                     {{{"run", "mine"}, {"step", "-3"}}, "no step"}}) {
    EXPECT_NE(refusal(load(metadata)).find(part), std::string::npos) << refusal(load(metadata));
  }
  tensors[0].value = at::ones({1});  // one number would be spread over both entries
  EXPECT_NE(refusal(load({{"run", "mine"}, {"step", "3"}})).find("'parameter.p' does not fit"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
