#include "learning/training.h"

#include <cmath>

#include "base/result_testing.h"
#include "data/folders_testing.h"
#include "learning/adaptformer.h"
#include "learning/evaluation.h"
#include "learning/lora.h"
#include "learning/model_files.h"
#include "learning/synthetic.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

using testing::refusal;

void expect_equal_parameters(const Model& a, const Model& b) {
  for (const Parameter& p : a.parameters().all())
    EXPECT_TRUE(at::equal(p.value, *b.parameters().find(p.name))) << p.name;
}

TEST(Optimizer, AdamWStepsByHand) {
  const Tensor p = at::full({1}, 2.0, at::kDouble).set_requires_grad(true);
  const auto adamw = make_adamw({{"p", p, 0.5, true}}, {.beta1 = 0.9, .beta2 = 0.99, .eps = 1e-8, .weight_decay = 0.1});
  double value = 2, m = 0, v = 0;
  for (int t = 1; t <= 3; ++t) {
    const double g = t * 0.3, rate = 0.01 * 0.5;
    p.mutable_grad() = at::full({1}, g, at::kDouble);
    adamw->step(0.01);
    value -= rate * 0.1 * value;
    m = 0.9 * m + 0.1 * g, v = 0.99 * v + 0.01 * g * g;
    value -= rate * (m / (1 - std::pow(0.9, t))) / (std::sqrt(v / (1 - std::pow(0.99, t))) + 1e-8);
    EXPECT_NEAR(p.item<double>(), value, 1e-12);
  }
}

TEST(Optimizer, SgdStepsByHand) {
  const Tensor p = at::full({1}, 1.0, at::kDouble).set_requires_grad(true);
  const auto sgd = make_sgd({{"p", p}}, {.momentum = 0.9, .weight_decay = 0.1});
  double value = 1, b = 0;
  for (const double g : {0.5, -0.2, 0.1}) {
    p.mutable_grad() = at::full({1}, g, at::kDouble);
    sgd->step(0.1);
    b = 0.9 * b + g + 0.1 * value;
    value -= 0.1 * b;
    EXPECT_NEAR(p.item<double>(), value, 1e-12);
  }
}

TEST(Optimizer, SchedulesAndClipping) {
  EXPECT_DOUBLE_EQ(rate_factor(Schedule::kLinear, 0, 10, 2), 0.5);
  EXPECT_DOUBLE_EQ(rate_factor(Schedule::kLinear, 1, 10, 2), 1);
  EXPECT_DOUBLE_EQ(rate_factor(Schedule::kLinear, 6, 10, 2), 0.5);
  EXPECT_DOUBLE_EQ(rate_factor(Schedule::kCosine, 5, 10, 0), 0.5);
  EXPECT_DOUBLE_EQ(rate_factor(Schedule::kConstant, 9, 10, 0), 1);
  EXPECT_FALSE(schedule_named("steps").ok());
  const Tensor p = at::zeros({2}).set_requires_grad(true);
  p.mutable_grad() = at::tensor({3.0F, 4.0F});
  EXPECT_NEAR(clip_gradients({{"p", p}}, 1), 5, 1e-6);
  EXPECT_NEAR(p.grad().norm().item<double>(), 1, 1e-5);
  EXPECT_NEAR(clip_gradients({{"p", p}}, 2), 1, 1e-5);
  EXPECT_NEAR(p.grad().norm().item<double>(), 1, 1e-5);
}

TEST(Method, HasAName) {
  EXPECT_EQ(*method_named("linear"), Method::kLinearProbe);
  EXPECT_NE(refusal(method_named("magic")).find("no method 'magic'"), std::string::npos);
}

class Training : public ::testing::Test {
 protected:
  Training() : directory_("training") { write_synthetic_idx(directory_.path(), "train", 120, 1); }
  [[nodiscard]] Samples samples(int64_t first, int64_t last) const {
    return open_samples(directory_.path(), "train", range(first, last));
  }
  TemporaryDirectory directory_;
};

TEST_F(Training, LearnsWhatCanBeSeen) {
  const auto model = tiny_vit(1);
  const Samples train_set = samples(0, 96), test_set = samples(96, 120);
  TrainingOptions options{.epochs = 20, .batch = 16, .rate = 3e-3};
  int64_t steps = 0;
  const auto report = train(*model, train_set, Method::kFull, options, [&](const TrainingStep&) -> Status {
    ++steps;
    return Done{};
  });
  ASSERT_TRUE(report.ok()) << report.error().message;
  EXPECT_EQ(steps, 120);
  EXPECT_EQ(report->samples, 20 * 96);
  EXPECT_LT(report->epoch_losses.back(), 0.5 * report->epoch_losses.front());
  EXPECT_GT(evaluate(*model, test_set.batches(10))->accuracy, 0.9);
}

TEST_F(Training, IsTheSameAgain) {
  const TrainingOptions options{.epochs = 2, .batch = 16, .seed = 7};
  const auto a = tiny_vit(1), b = tiny_vit(1);
  ASSERT_TRUE(train(*a, samples(0, 50), Method::kFull, options).ok());
  ASSERT_TRUE(train(*b, samples(0, 50), Method::kFull, options).ok());
  expect_equal_parameters(*a, *b);
}

TEST_F(Training, ResumedRunsEndAsUninterruptedOnes) {
  TrainingOptions options{.epochs = 3, .batch = 16, .schedule = Schedule::kCosine, .warmup = 0.2, .seed = 3};
  const Samples set = samples(0, 50);
  const auto whole = tiny_vit(1);
  ASSERT_TRUE(train(*whole, set, Method::kFull, options).ok());

  options.checkpoint = directory_.path() / "state.safetensors";
  int64_t steps = 0;
  std::unique_ptr<Model> model;
  for (const int64_t stop : {3, 4, 0}) {  // within the first epoch, within the second, to the end
    options.stop_after = stop;
    model = tiny_vit(1);
    const auto report = train(*model, set, Method::kFull, options);
    ASSERT_TRUE(report.ok()) << report.error().message;
    EXPECT_EQ(report->resumed_at, steps);
    steps += report->steps;
  }
  EXPECT_EQ(steps, 12);
  expect_equal_parameters(*whole, *model);

  options.rate = 1;
  EXPECT_NE(refusal(train(*model, set, Method::kFull, options)).find("another run"), std::string::npos);
}

TEST_F(Training, RefusesWhatCannotWork) {
  const auto model = tiny_vit(1);
  const auto message = [&](const TrainingOptions& options) {
    return refusal(train(*model, samples(0, 8), Method::kFull, options));
  };
  for (const auto& [options, part] : std::vector<std::pair<TrainingOptions, const char*>>{
           {{.epochs = 0}, "must be positive"},
           {{.batch = -1}, "must be positive"},
           {{.rate = 0}, "a learning rate of 0"},
           {{.rate = std::numeric_limits<double>::infinity()}, "a learning rate of inf"},
           {{.layer_decay = 0}, "a layer decay of 0"},
           {{.layer_decay = 1.1}, "a layer decay of 1.1"},
           {{.warmup = -0.1}, "a warm-up of -0.1"},
           {{.warmup = 1}, "a warm-up of 1"}}) {
    EXPECT_NE(message(options).find(part), std::string::npos) << message(options);
  }
  EXPECT_NE(refusal(train(*model, {}, Method::kFull, {})).find("nothing to train on"), std::string::npos);
  EXPECT_NE(refusal(train(*model, samples(0, 8), Method::kLora, {})).find("no adapters"), std::string::npos);
  const at::NoGradGuard no_grad;
  model->parameters().find("classifier.bias")->fill_(std::numeric_limits<float>::quiet_NaN());
  EXPECT_NE(message({}).find("not finite"), std::string::npos);
}

TEST_F(Training, AdaptersLeaveTheBackboneAlone) {
  for (const Method method : {Method::kLinearProbe, Method::kLora, Method::kAdaptFormer}) {
    const auto model = tiny_vit(1), original = tiny_vit(1);
    const Tensor image = samples(0, 8).batch(std::vector<int64_t>{0, 1, 2})->inputs;
    if (method == Method::kLora) {
      ASSERT_TRUE(add_lora(*model, {.rank = 4, .seed = 2}).ok());
    }
    if (method == Method::kAdaptFormer) {
      ASSERT_TRUE(add_adaptformer(*model, {.bottleneck = 4, .seed = 2}).ok());
    }
    EXPECT_TRUE(at::equal(model->logits(image), original->logits(image)));  // nothing changes until trained
    ASSERT_TRUE(train(*model, samples(0, 50), method, {.epochs = 2, .rate = 1e-2}).ok());
    EXPECT_FALSE(at::equal(model->logits(image), original->logits(image)));
    for (const Parameter& p : model->parameters().all()) {
      EXPECT_EQ(at::equal(p.value, *original->parameters().find(p.name)), !p.name.starts_with("classifier.")) << p.name;
    }
    if (method == Method::kAdaptFormer) {
      ASSERT_TRUE(save_model(*model, directory_.path() / "adapted").ok());
      const auto loaded = load_model(directory_.path() / "adapted");
      ASSERT_TRUE(loaded.ok()) << loaded.error().message;
      EXPECT_TRUE(at::equal((*loaded)->logits(image), model->logits(image)));
      EXPECT_TRUE(at::equal(clone(*model)->logits(image), model->logits(image)));
    }
  }
}

TEST(TrainableParameters, ALinearProbeIsOfAClassifier) {
  const auto model = make_model(*load_model_config(kTestData / "opt"), {});
  EXPECT_NE(refusal(trainable_parameters(*model, Method::kLinearProbe, 1)).find("needs an image classifier"),
            std::string::npos);
}

TEST(TrainableParameters, LayerDecayAndWhatIsDecayed) {
  const auto model = tiny_vit(1);
  const auto parameters = trainable_parameters(*model, Method::kFull, 0.5);
  for (const Trainable& p : *parameters) {
    const double expected = p.name.starts_with("vit.embeddings")        ? 0.125
                            : p.name.starts_with("vit.encoder.layer.0") ? 0.25
                            : p.name.starts_with("vit.encoder.layer.1") ? 0.5
                                                                        : 1;
    EXPECT_EQ(p.rate_scale, expected) << p.name;
    EXPECT_EQ(p.decay, p.name.ends_with("dense.weight") || p.name.ends_with("query.weight") ||
                           p.name.ends_with("key.weight") || p.name.ends_with("value.weight") ||
                           p.name.ends_with("projection.weight") || p.name == "classifier.weight")
        << p.name;
  }
}

}  // namespace
}  // namespace zkapex
