#include "learning/lora.h"

#include <fstream>

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"
#include "learning/synthetic.h"
#include "learning/tensor_files.h"
#include "learning/tensor_testing.h"

namespace zkapex {
namespace {

using nlohmann::json;
using testing::refusal;

// A model in double with LoRA matrices that are not zero.
std::unique_ptr<Model> with_lora(const LoraOptions& options) {
  auto model = tiny_vit(1, at::kDouble);
  EXPECT_TRUE(add_lora(*model, options).ok());
  at::manual_seed(3);
  for (const Parameter& p : lora_parameters(*model)) p.value.normal_(0, 0.3);
  return model;
}

TEST(Lora, MergingChangesNothing) {
  const auto model = with_lora({.rank = 3, .alpha = 5});
  const Tensor image = at::randn({4, 1, 8, 8}, at::kDouble);
  const Tensor before = model->logits(image);
  const Tensor bare = tiny_vit(1, at::kDouble)->logits(image);
  EXPECT_GT(relative_difference(before, bare), 1e-3);
  merge_lora(*model);
  EXPECT_TRUE(lora_parameters(*model).empty());
  EXPECT_LT(relative_difference(model->logits(image), before), 1e-12);
}

TEST(Lora, PeftFilesComeBack) {
  const TemporaryDirectory directory("peft");
  const LoraOptions options{.rank = 2, .alpha = 6, .targets = {"*query.weight", "*output.dense.weight"}};
  const auto model = with_lora(options);
  ASSERT_TRUE(save_lora(*model, options, directory.path(), true).ok());
  const auto config = *read_json(directory.path() / "adapter_config.json");
  EXPECT_EQ(config["target_modules"].size(), 6U);  // query, attention.output.dense and output.dense of two blocks
  EXPECT_EQ(config["target_modules"][2], "vit.encoder.layer.0.output.dense");
  const auto file = Checkpoint::open(directory.path() / "adapter_model.safetensors");
  EXPECT_NE(file->find("base_model.model.vit.encoder.layer.1.attention.attention.query.lora_A.weight"), nullptr);
  EXPECT_NE(file->find("base_model.model.classifier.weight"), nullptr);
  const auto other = tiny_vit(1, at::kDouble);
  const Status loaded = load_lora(*other, directory.path());
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  const Tensor image = at::randn({4, 1, 8, 8}, at::kDouble);
  EXPECT_LT(relative_difference(other->logits(image), model->logits(image)), 1e-6);  // float in the file
}

TEST(Lora, RefusesWhatCannotBeAdded) {
  EXPECT_NE(refusal(add_lora(*tiny_vit(1), {.rank = 0})).find("not positive"), std::string::npos);
  EXPECT_NE(refusal(add_lora(*tiny_vit(1), {.targets = {"*stranger*"}})).find("'*stranger*'"), std::string::npos);
}

TEST(Lora, SaysWhereItCannotBeSaved) {
  const TemporaryDirectory directory("peft_nowhere");
  std::ofstream(directory.path() / "file") << "no folder";
  const auto model = with_lora({});
  EXPECT_NE(refusal(save_lora(*model, {}, directory.path() / "file" / "below", false)).find("cannot be made"),
            std::string::npos);
}

const std::string kModule = "base_model.model.vit.layers.0.mlp.fc1";  // transformers' name in memory

std::vector<Parameter> pair(const std::string& module, at::IntArrayRef a = {4, 16}, at::IntArrayRef b = {24, 4}) {
  return {{module + ".lora_A.weight", at::ones(a)}, {module + ".lora_B.weight", at::ones(b)}};
}

// PEFT's files, mostly for the first fc1 of a model, whose weight is 24 × 16.
class PeftFiles : public ::testing::Test {
 protected:
  // Of rank 4 and alpha 8 where `config` does not say otherwise: what is refused, or the scale of the branch.
  std::string load(json config, const std::vector<Parameter>& tensors) {
    config["r"] = config.value("r", 4), config["lora_alpha"] = config.value("lora_alpha", 8);
    EXPECT_TRUE(write_json(directory_.path() / "adapter_config.json", config).ok());
    EXPECT_TRUE(write_tensors(directory_.path() / "adapter_model.safetensors", tensors).ok());
    const auto model = tiny_vit(1);
    const Status done = load_lora(*model, directory_.path());
    if (!done.ok()) return done.error().message;
    const auto& branch = model->linears()[4]->lora;
    return branch ? fmt::format("{}", branch->scale) : "no branch";
  }
  std::string load_configured(const json& config) { return load(config, pair(kModule)); }
  std::string load_tensors(const std::vector<Parameter>& tensors) { return load(json::object(), tensors); }

  TemporaryDirectory directory_{"peft_files"};
};

TEST_F(PeftFiles, ScalesAndPatterns) {
  EXPECT_EQ(load_configured(json::object()), "2");
  EXPECT_EQ(load_configured({{"use_rslora", true}}), "4");
  EXPECT_EQ(load_configured({{"alpha_pattern", {{"intermediate.dense", 2}}}}), "0.5");
  EXPECT_EQ(load_configured({{"r", 16}, {"rank_pattern", {{".*intermediate.dense", 4}}}}), "2");
}

TEST_F(PeftFiles, ConfigurationsThatAreRefused) {
  for (const auto& [config, part] : std::vector<std::pair<json, const char*>>{
           {{{"peft_type", "LOHA"}}, "type 'LOHA' is not LoRA"},
           {{{"use_dora", true}}, "are not supported"},
           {{{"lora_bias", true}}, "are not supported"},
           {{{"lora_dropout", 7}}, "'lora_dropout' is 7, not a share"},
           {{{"lora_dropout", -1}}, "'lora_dropout' is -1, not a share"},
           {{{"r", 16}}, "has rank 4, the configuration says 16"},
           {{{"rank_pattern", {{"(", 4}}}}, "'(' is not a pattern with a number"},
           {{{"alpha_pattern", {{".*", "much"}}}}, "'.*' is not a pattern with a number"},
           {{{"fan_in_fan_out", true}}, "do not fit its weight"}}) {
    EXPECT_NE(load_configured(config).find(part), std::string::npos) << load_configured(config);
  }
}

TEST_F(PeftFiles, MatricesThatAreRefused) {
  const std::vector<Parameter> both = pair(kModule);
  for (const auto& [tensors, part] : std::vector<std::pair<std::vector<Parameter>, const char*>>{
           {{both[0]}, "only one of lora_A and lora_B"},
           {{both[1]}, "only one of lora_A and lora_B"},
           {pair(kModule, {4, 16, 1}), "do not multiply"},
           {pair(kModule, {4, 16}, {24, 4, 1}), "do not multiply"},
           {pair(kModule, {4, 16}, {24, 3}), "do not multiply"},
           {pair(kModule, {4, 15}), "do not fit its weight"},
           {pair(kModule, {4, 16}, {23, 4}), "do not fit its weight"},
           {pair("base_model.model.vit.layers.7.mlp.fc1"), "no linear map 'vit.encoder.layer.7.intermediate.dense'"},
           {pair("stranger"), "does not start with"}}) {
    EXPECT_NE(load_tensors(tensors).find(part), std::string::npos) << load_tensors(tensors);
  }
  EXPECT_NE(load({{"r", 0}}, pair(kModule, {0, 16}, {24, 0})).find("has rank 0"), std::string::npos);
}

TEST_F(PeftFiles, ModulesInFullThatAreRefused) {
  const std::string model = "base_model.model.";
  EXPECT_NE(load_tensors({{model + "stranger.weight", at::ones({3})}}).find("nothing named 'stranger.weight'"),
            std::string::npos);
  // One number would be spread over all entries.
  EXPECT_NE(load_tensors({{model + "classifier.bias", at::ones({1})}}).find("'classifier.bias' does not fit the model"),
            std::string::npos);
}

}  // namespace
}  // namespace zkapex
