// Who hears of progress may end the work, and nothing is left of it.
#include "parties/work.h"

#include <set>

#include "base/result_testing.h"
#include "parties/client_folder_testing.h"
#include "parties/update.h"

namespace zkapex {
namespace {

class WorkTest : public testing::ClientTest {
 protected:
  // Stops at the first word of a stage.
  static WorkSettings stopped_at(std::string_view stage) {
    WorkSettings settings = world_->settings;
    settings.observe = [stage](std::string_view label, uint64_t, uint64_t) {
      return label == stage ? Status(error("enough")) : Done{};
    };
    return settings;
  }
};

TEST_F(WorkTest, TheObserverHearsOfEveryStage) {
  std::set<std::string> stages;
  uint64_t last = 0, all = 0;
  WorkSettings settings = world_->settings;
  settings.observe = [&](std::string_view label, uint64_t done, uint64_t total) -> Status {
    stages.emplace(label);
    last = done;
    all = total;
    return Done{};
  };
  ASSERT_TRUE(unlearn(window("w1"), settings).ok());
  EXPECT_EQ(stages, (std::set<std::string>{"unlearning", "proving"}));
  EXPECT_EQ(last, all);
}

TEST_F(WorkTest, AWindowThatIsStoppedLeavesNothing) {
  const auto before = state();
  for (const std::string_view stage : {"unlearning", "proving"}) {
    EXPECT_EQ(testing::refusal(unlearn(window("w1"), stopped_at(stage))), "enough") << stage;
    EXPECT_EQ(state(), before);
    EXPECT_FALSE(std::filesystem::exists(at("out/a.zka")));
    EXPECT_FALSE(std::filesystem::exists(at("out/a.safetensors")));
  }
}

TEST_F(WorkTest, AWindowOfTheMaskAloneIsStoppedToo) {
  Mask mask = world_->mask;
  mask.op = Operator::kMaskOnly;
  mask.window = "mask-only";
  ASSERT_TRUE(write_file(at("mask-only.zka"), mask.serialize(), {.overwrite = true}).ok());
  EXPECT_EQ(testing::refusal(unlearn(window("mask-only"), stopped_at("unlearning"))), "enough");
}

TEST_F(WorkTest, AnUpdateThatIsStoppedLeavesNothing) {
  const auto before = state();
  std::filesystem::create_directories(at("out"));
  const UpdateRequest request{.client = client(),
                              .model = at("model.safetensors"),
                              .store = {},
                              .base = world_->base_file(),
                              .out = at("out/update.zka")};
  EXPECT_EQ(testing::refusal(update(request, stopped_at("proving"))), "enough");
  EXPECT_EQ(state(), before);
  EXPECT_FALSE(std::filesystem::exists(at("out/update.zka")));
}

}  // namespace
}  // namespace zkapex
