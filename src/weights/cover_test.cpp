#include "weights/cover.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

TEST(Cover, PatternsMatchWholeNamesOrEndsAfterADot) {
  EXPECT_TRUE(matches_pattern("a.b", "a.b"));
  EXPECT_TRUE(matches_pattern("a.b", "x.a.b"));
  EXPECT_FALSE(matches_pattern("a.b", "xa.b"));
  EXPECT_FALSE(matches_pattern("a.b", "a.b.c"));
  EXPECT_TRUE(matches_pattern("l.{i}.w", "l.120.w"));
  EXPECT_FALSE(matches_pattern("l.{i}.w", "l..w"));
  EXPECT_FALSE(matches_pattern("l.{i}.w", "l.1a.w"));
  EXPECT_FALSE(matches_pattern("l.{i}.w", "l.1.2.w"));
  EXPECT_TRUE(matches_pattern("l.{i}{i}", "l.12"));
  EXPECT_FALSE(matches_pattern("l.{i}{i}", "l.1"));
  EXPECT_TRUE(matches_pattern("*.weight", "a.b.weight"));
  EXPECT_TRUE(matches_pattern("*", ""));
  EXPECT_FALSE(matches_pattern("", "a"));
  EXPECT_FALSE(matches_pattern(std::string(50, '*') + "b", std::string(5000, 'a')));
}

TEST(Cover, VitTakesTheMlpAndNotTheAttention) {
  const CoverPatterns vit = *cover_preset("vit"), fc1 = *cover_preset("vit-fc1");
  for (const char* name : {"vit.encoder.layer.0.intermediate.dense.weight", "vit.layers.11.mlp.fc1.weight"}) {
    EXPECT_TRUE(is_covered(vit, name)) << name;
    EXPECT_TRUE(is_covered(fc1, name)) << name;
  }
  for (const char* name : {"vit.encoder.layer.11.output.dense.weight", "vit.layers.0.mlp.fc2.weight"}) {
    EXPECT_TRUE(is_covered(vit, name)) << name;
    EXPECT_FALSE(is_covered(fc1, name)) << name;
  }
  for (const char* name : {"vit.encoder.layer.0.attention.output.dense.weight", "classifier.weight",
                           "vit.encoder.layer.0.intermediate.dense.bias", "vit.encoder.layer.0.layernorm_after.weight"})
    EXPECT_FALSE(is_covered(vit, name)) << name;
}

TEST(Cover, OptTakesBothPrefixes) {
  const CoverPatterns opt = *cover_preset("opt");
  for (const char* name : {"model.decoder.layers.0.fc1.weight", "decoder.layers.7.fc2.weight"})
    EXPECT_TRUE(is_covered(opt, name)) << name;
  for (const char* name : {"model.decoder.layers.0.self_attn.out_proj.weight", "model.decoder.layers.0.fc1.bias",
                           "model.encoder.layers.0.fc1.weight", "lm_head.weight"})
    EXPECT_FALSE(is_covered(opt, name)) << name;
}

TEST(Cover, NamesThatDifferInNumbersAreToldAsOne) {
  EXPECT_EQ(summarize_names({"l.0.w", "l.0.v", "l.1.w", "l.10.w", "head2", "head3", "3"}),
            (std::vector<std::string>{"l.{i}.w (3)", "l.0.v", "head2", "head3", "3"}));
  EXPECT_TRUE(summarize_names({}).empty());
}

TEST(Cover, UnknownPresetIsAnError) { EXPECT_FALSE(cover_preset("bert").ok()); }

}  // namespace
}  // namespace zkapex
