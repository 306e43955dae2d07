#include "data/model_config.h"

#include <tuple>

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"

namespace zkapex {
namespace {

using nlohmann::json;
using testing::refusal;

const json kVit = {{"model_type", "vit"},     {"hidden_size", 24}, {"num_attention_heads", 3}, {"num_hidden_layers", 2},
                   {"intermediate_size", 48}, {"image_size", 28},  {"patch_size", 7},          {"num_labels", 10}};
const json kOpt = {{"model_type", "opt"}, {"hidden_size", 32}, {"num_attention_heads", 4}, {"ffn_dim", 64}};

std::string message(json document, const char* key, const json& value) {
  document[key] = value;
  return refusal(parse_model_config(document));
}

TEST(ModelConfig, ReadsBothKinds) {
  const auto vit = parse_model_config(kVit);
  ASSERT_TRUE(vit.ok()) << vit.error().message;
  ASSERT_TRUE(vit->vit() && !vit->opt());
  EXPECT_EQ(vit->vit()->patches(), 16);
  EXPECT_EQ(vit->vit()->classes, 10);
  EXPECT_EQ(vit->activation, Activation::kGelu);
  EXPECT_EQ(with_classes(*vit, 3)->vit()->classes, 3);
  const auto opt = parse_model_config(kOpt);
  ASSERT_TRUE(opt.ok()) << opt.error().message;
  ASSERT_TRUE(opt->opt() && !opt->vit());
  EXPECT_EQ(opt->opt()->embedding, 32);
  EXPECT_EQ(opt->activation, Activation::kRelu);
  EXPECT_NE(refusal(with_classes(*opt, 3)).find("only an image classifier"), std::string::npos);
}

TEST(ModelConfig, RefusesWhatItDoesNotKnow) {
  for (const auto& [document, key, value, part] : std::vector<std::tuple<json, const char*, json, const char*>>{
           {kVit, "model_type", "bert", "'bert' is not supported"},
           {kVit, "model_type", 7, "unexpected type"},
           {kVit, "hidden_act", "swish", "'swish' is not supported"},
           {kVit, "hidden_size", 0, "not a size"},
           {kVit, "hidden_size", (1 << 24) + 3, "not a size"},
           {kVit, "hidden_size", "many", "unexpected type"},
           {kVit, "num_attention_heads", 5, "do not divide a width"},
           {kVit, "patch_size", 5, "do not divide an image"},
           {kVit, "num_labels", -1, "not a size"},
           {kOpt, "enable_bias", false, "Galactica"},
           {kOpt, "layer_norm_elementwise_affine", false, "Galactica"}}) {
    EXPECT_NE(message(document, key, value).find(part), std::string::npos)
        << key << ": " << message(document, key, value);
  }
  json nameless = kVit;
  nameless.erase("model_type");
  EXPECT_EQ(refusal(parse_model_config(nameless)), "'model_type' is missing");
  EXPECT_NE(refusal(parse_model_config(json::array())).find("not a JSON object"), std::string::npos);
}

TEST(ModelConfig, ErrorsNameTheFile) {
  const TemporaryDirectory directory("model_config");
  EXPECT_NE(refusal(load_model_config(directory.path())).find("config.json"), std::string::npos);
  ASSERT_TRUE(write_json(directory.path() / "config.json", {{"model_type", "bert"}}).ok());
  EXPECT_NE(refusal(load_model_config(directory.path())).find("config.json: the model type"), std::string::npos);
  ASSERT_TRUE(write_json(directory.path() / "config.json", kVit).ok());
  EXPECT_TRUE(load_model_config(directory.path()).ok());
}

}  // namespace
}  // namespace zkapex
