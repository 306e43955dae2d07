#include "learning/model.h"

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"
#include "learning/model_files.h"
#include "learning/model_names.h"
#include "learning/sample_gradients.h"
#include "learning/tensor_files.h"
#include "learning/tensor_testing.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

namespace fs = std::filesystem;
using testing::refusal;

Batch golden_batch(const std::string& folder) {
  const auto file = Checkpoint::open(kTestData / folder / "input.safetensors");
  if (folder == "opt") {
    const Tensor ids = *read_tensor(*file->find("input_ids"));
    return {ids, ids};
  }
  return {*read_tensor(*file->find("pixel_values")), *read_tensor(*file->find("labels"))};
}

std::unique_ptr<Model> golden_model(const std::string& folder, at::ScalarType dtype = at::kFloat) {
  auto model = load_model(kTestData / folder, {.placement = {.dtype = dtype}});
  EXPECT_TRUE(model.ok()) << model.error().message;
  return std::move(*model);
}

// Copies a golden directory with its tensors changed by `edit`.
void write_edited(const std::string& folder, const fs::path& to,
                  const std::function<void(std::vector<Parameter>&)>& edit) {
  const auto file = Checkpoint::open(kTestData / folder);
  std::vector<Parameter> tensors;
  for (const TensorView& view : file->tensors()) tensors.push_back({view.name(), *read_tensor(view)});
  edit(tensors);
  ASSERT_TRUE(write_tensors(to / "model.safetensors", tensors).ok());
  ASSERT_TRUE(write_json(to / "config.json", *read_json(kTestData / folder / "config.json")).ok());
}

TEST(Model, SavedModelsLoadAgainWithTheNamesOfTheHub) {
  for (const std::string folder : {"vit", "opt"}) {
    const TemporaryDirectory directory("saved_" + folder);
    ASSERT_TRUE(save_model(*golden_model(folder), directory.path()).ok());
    const auto original = Checkpoint::open(kTestData / folder), saved = Checkpoint::open(directory.path());
    ASSERT_EQ(original->tensors().size(), saved->tensors().size());
    for (const TensorView& view : original->tensors()) {
      const TensorView* other = saved->find(view.name());
      ASSERT_NE(other, nullptr) << view.name();
      EXPECT_TRUE(std::ranges::equal(view.data(), other->data())) << view.name();
    }
    EXPECT_EQ(*read_json(directory.path() / "config.json"), *read_json(kTestData / folder / "config.json"));
    EXPECT_EQ(saved->metadata().at("format"), "pt");
  }
}

TEST(Model, AcceptsOtherNamesOfTheSameTensors) {
  const TemporaryDirectory directory("names");
  for (const std::string folder : {"vit", "opt"}) {
    const auto model = golden_model(folder);
    const Batch batch = golden_batch(folder);
    write_edited(folder, directory.path(), [&](std::vector<Parameter>& tensors) {
      for (Parameter& p : tensors) {
        p.name = memory_name(model->config(), p.name);
        if (p.name == "model.decoder.embed_tokens.weight") p.name = "lm_head.weight";
        if (p.name.starts_with("model.decoder.")) p.name.erase(0, 6);
      }
    });
    const auto renamed = load_model(directory.path());
    ASSERT_TRUE(renamed.ok()) << renamed.error().message;
    EXPECT_TRUE(at::equal((*renamed)->logits(batch.inputs), model->logits(batch.inputs)));
  }
}

TEST(Model, NamesTheTensorThatDoesNotFit) {
  const TemporaryDirectory directory("unfit");
  const auto message_after = [&](const std::function<void(std::vector<Parameter>&)>& edit) {
    write_edited("vit", directory.path(), edit);
    return refusal(load_model(directory.path()));
  };
  EXPECT_NE(message_after([](auto& t) { t.pop_back(); }).find("has no tensor 'vit.layernorm.weight'"),
            std::string::npos);
  EXPECT_NE(message_after([](auto& t) {
              t.push_back({"stranger", at::zeros({1})});
            }).find("'stranger'"),
            std::string::npos);
  const std::string shape = message_after([](auto& t) { t[0].value = at::zeros({8}); });
  EXPECT_NE(shape.find("'classifier.bias' has the shape [8], but config.json asks for [7]"), std::string::npos)
      << shape;
  EXPECT_EQ(message_after([](auto& t) { t.push_back({"vit.pooler.dense.weight", at::zeros({1})}); }), "(accepted)");
  const std::string integers = message_after([](auto& t) { t[0].value = at::zeros({7}, at::kLong); });
  EXPECT_NE(integers.find("'classifier.bias' does not hold floating-point numbers"), std::string::npos) << integers;
  const std::string twice = message_after([](auto& t) {
    t.push_back({"vit.layers.0.mlp.fc1.weight", at::zeros({96, 48})});
  });
  EXPECT_NE(twice.find("'vit.encoder.layer.0.intermediate.dense.weight' is there under two names"), std::string::npos)
      << twice;
}

TEST(Model, IsAFolder) {
  const fs::path file = kTestData / "vit" / "model.safetensors";
  EXPECT_NE(refusal(load_model(file)).find("is a file; a model is a folder"), std::string::npos);
  EXPECT_NE(refusal(save_model(*golden_model("vit"), file / "below")).find("cannot be made"), std::string::npos);
}

TEST(Model, NewClassifierForOtherClasses) {
  const auto model = load_model(kTestData / "vit", {.classes = 3, .seed = 5});
  ASSERT_TRUE(model.ok()) << model.error().message;
  EXPECT_EQ((*model)->logits(golden_batch("vit").inputs).size(1), 3);
  EXPECT_EQ((*model)->config().document->at("id2label").size(), 3U);
  const Tensor* kept = (*model)->parameters().find("vit.layernorm.weight");
  EXPECT_TRUE(at::equal(*kept, *golden_model("vit")->parameters().find("vit.layernorm.weight")));
  EXPECT_NE(refusal(load_model(kTestData / "opt", {.classes = 3})).find("only an image classifier"), std::string::npos);
}

TEST(Model, AClassifierWithoutAShapeIsReplaced) {
  const TemporaryDirectory directory("scalar_classifier");
  write_edited("vit", directory.path(), [](std::vector<Parameter>& tensors) {
    for (Parameter& p : tensors) {
      if (p.name == "classifier.weight") p.value = at::zeros({});
    }
  });
  EXPECT_EQ(refusal(load_model(directory.path(), {.classes = 7})), "(accepted)");
}

TEST(Model, ConfigurationsThatCannotBe) {
  const auto with = [](const char* key, const nlohmann::json& value) {
    auto document = *read_json(kTestData / "vit" / "config.json");
    document[key] = value;
    return parse_model_config(document);
  };
  EXPECT_TRUE(with("patch_size", 16).ok());
  EXPECT_NE(with("patch_size", 7).error().message.find("do not divide"), std::string::npos);
  EXPECT_FALSE(with("num_attention_heads", 5).ok());
  EXPECT_FALSE(with("hidden_size", -48).ok());
  EXPECT_FALSE(with("hidden_size", "wide").ok());
  EXPECT_FALSE(with("model_type", "bert").ok());
  EXPECT_FALSE(with("hidden_act", "tanh").ok());
}

TEST(Model, NarrowEmbeddingsAndNormsAfter) {  // opt-350m's shape
  auto document = *read_json(kTestData / "opt" / "config.json");
  document["do_layer_norm_before"] = false;
  document["word_embed_proj_dim"] = 24;
  auto model = make_model(*parse_model_config(document), {});
  initialize(*model, 1);
  EXPECT_NE(model->parameters().find("model.decoder.project_in.weight"), nullptr);
  EXPECT_EQ(model->parameters().find("model.decoder.final_layer_norm.weight"), nullptr);
  EXPECT_EQ(model->logits(golden_batch("opt").inputs).sizes(), at::IntArrayRef({5, 20, 97}));
}

TEST(Model, NextTokensDoNotReachBack) {
  const auto model = golden_model("opt");
  const Tensor ids = golden_batch("opt").inputs;
  Tensor changed = ids.clone();
  changed.select(1, 19).fill_(3);
  const Tensor a = model->logits(ids).narrow(1, 0, 19), b = model->logits(changed).narrow(1, 0, 19);
  EXPECT_LT(relative_difference(a, b), 1e-6);
}

TEST(Model, InitializationIsFixedBySeed) {
  const ModelConfig config = *load_model_config(kTestData / "vit");
  auto a = make_model(config, {}), b = make_model(config, {}), c = make_model(config, {});
  initialize(*a, 1), initialize(*b, 1), initialize(*c, 2);
  const auto weight = [](const auto& m) { return *m->parameters().find("vit.encoder.layer.1.output.dense.weight"); };
  EXPECT_TRUE(at::equal(weight(a), weight(b)));
  EXPECT_FALSE(at::equal(weight(a), weight(c)));
}

// Mean gradients and single samples' gradients against central differences, in double.
TEST(SampleGradients, MatchFiniteDifferences) {
  for (const std::string folder : {"vit", "opt"}) {
    const auto model = golden_model(folder, at::kDouble);
    const Batch batch = golden_batch(folder).to(model->placement());
    const std::vector<std::string> covered = {model->mlp_weights()[0], model->mlp_weights()[3]};
    std::vector<Tensor> gradients(2);
    trace_batch(*model, batch, covered, [&](const LayerTrace& trace) {
      gradients[trace.layer] = trace.samples(0, batch.size(), 0, trace.outputs.size(2));
    });
    const at::NoGradGuard no_grad;
    const auto losses = [&] { return model->sample_losses(model->logits(batch.inputs), batch.labels); };
    for (size_t k = 0; k < covered.size(); ++k) {
      const Tensor flat = model->parameters().find(covered[k])->view({-1});
      for (const int64_t entry : {int64_t{0}, int64_t{47}, int64_t{1234}, flat.numel() - 1}) {
        constexpr double kStep = 1e-5;
        const double value = flat[entry].item<double>();
        flat[entry].fill_(value + kStep);
        const Tensor above = losses();
        flat[entry].fill_(value - kStep);
        const Tensor slope = (above - losses()) / (2 * kStep);
        flat[entry].fill_(value);
        const Tensor found = gradients[k].flatten(1).select(1, entry);
        EXPECT_LT((slope - found).abs().max().item<double>(), 1e-8) << folder << " " << entry;
      }
    }
  }
}

TEST(SampleGradients, SumsAreBatchGradients) {
  const auto model = golden_model("vit", at::kDouble);
  const Batch batch = golden_batch("vit").to(model->placement());
  const std::vector<std::string> covered = model->mlp_weights();
  std::vector<Tensor> sums(covered.size()), of_samples(covered.size());
  trace_batch(*model, batch, covered, [&](const LayerTrace& trace) {
    sums[trace.layer] = trace.sum();
    of_samples[trace.layer] = trace.samples(0, batch.size(), 0, trace.outputs.size(2)).sum(0);
  });
  model->set_requires_grad(true);
  model->sample_losses(model->logits(batch.inputs), batch.labels).sum().backward();
  for (size_t k = 0; k < covered.size(); ++k) {
    const Tensor& reference = model->parameters().find(covered[k])->grad();
    EXPECT_LT(relative_difference(sums[k], reference), 1e-12);
    EXPECT_LT(relative_difference(of_samples[k], reference), 1e-12);
  }
}

TEST(SampleGradients, CoveredWeightsByPattern) {
  const auto model = golden_model("vit");
  EXPECT_EQ(covered_weights(*model, {})->size(), 4U);
  const std::vector<std::string> fc1 = {"vit.encoder.layer.0.intermediate.dense.weight",
                                        "vit.encoder.layer.1.intermediate.dense.weight"};
  EXPECT_EQ(*covered_weights(*model, {"*.mlp.fc1.weight"}), fc1);
  EXPECT_EQ(*covered_weights(*model, {"*intermediate.dense.weight"}), fc1);
  EXPECT_NE(refusal(covered_weights(*model, {"*fc3*"})).find("'*fc3*'"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
