#include <algorithm>
#include <cmath>

#include "base/result_testing.h"
#include "data/folders_testing.h"
#include "learning/baselines.h"
#include "learning/evaluation.h"
#include "learning/forgetting_terms.h"
#include "learning/synthetic.h"
#include "learning/tensor_testing.h"
#include "learning/torch.h"

namespace zkapex {
namespace {

using testing::refusal;

class Metrics : public ::testing::Test {
 protected:
  Metrics() : directory_("metrics") { write_synthetic_idx(directory_.path(), "train", 40, 2); }
  [[nodiscard]] Samples samples(int64_t first, int64_t last) const {
    return open_samples(directory_.path(), "train", range(first, last));
  }
  [[nodiscard]] static Batch whole(const Samples& set, const Model& model) {
    return set.batch(range(0, set.size()))->to(model.placement());
  }
  TemporaryDirectory directory_;
};

TEST_F(Metrics, AccuracyAndLoss) {
  const auto model = tiny_vit(1);
  const Samples set = samples(0, 40);
  const Batch batch = whole(set, *model);
  const auto found = evaluate(*model, set.batches(7));
  ASSERT_TRUE(found.ok());
  const Tensor logits = model->logits(batch.inputs);
  EXPECT_NEAR(found->accuracy, (logits.argmax(1) == batch.labels).to(at::kDouble).mean().item<double>(), 1e-12);
  EXPECT_NEAR(found->mean_loss, model->sample_losses(logits, batch.labels).mean().item<double>(), 1e-5);
  EXPECT_EQ(found->losses.size(), 40U);
  EXPECT_NEAR(found->perplexity, std::exp(found->mean_loss), 1e-12);
}

TEST_F(Metrics, AlignmentIsTheMeanDivergence) {
  const auto a = tiny_vit(1), b = tiny_vit(2);
  const Samples set = samples(0, 20);
  const Batch batch = whole(set, *a);
  EXPECT_NEAR(*alignment(*a, *clone(*a), set.batches(8)), 0, 1e-9);
  const Tensor p = at::softmax(a->logits(batch.inputs), 1), q = at::softmax(b->logits(batch.inputs), 1);
  const double expected = (p * (p / q).log()).sum(1).mean().item<double>();
  EXPECT_NEAR(*alignment(*a, *b, set.batches(8)), expected, 1e-5 * expected);
}

TEST(Recovery, IsTheShareGivenBack) {
  EXPECT_DOUBLE_EQ(recovery(0.9, 0.5, 0.7), 0.5);
  EXPECT_DOUBLE_EQ(recovery(0.9, 0.5, 0.9), 1);
  EXPECT_TRUE(std::isnan(recovery(0.9, 0.9, 0.9)));
}

// Without dropout, so that a step can be computed a second time.
std::unique_ptr<Model> plain_model(uint64_t seed) {
  auto document = *tiny_vit_config().document;
  document["hidden_dropout_prob"] = 0;
  auto model = make_model(*parse_model_config(document), {.dtype = at::kDouble});
  initialize(*model, seed);
  return model;
}

Tensor gradient_of(const Model& model, const Tensor& loss, const std::string& name) {
  loss.backward();
  return model.parameters().find(name)->grad().clone();
}

TEST_F(Metrics, GradientAscentStepByHand) {
  const std::string name = "vit.encoder.layer.1.output.dense.weight";
  const Samples forget = samples(0, 10);
  const auto model = plain_model(1), reference = plain_model(1);
  ASSERT_TRUE(gradient_ascent(*model, forget, {.rate = 0.1, .forget_batch = 10}).ok());
  reference->set_requires_grad(true);
  const Batch batch = whole(forget, *reference);
  const Tensor g =
      gradient_of(*reference, reference->sample_losses(reference->logits(batch.inputs), batch.labels).mean(), name);
  const Tensor theta = reference->parameters().find(name)->detach();
  EXPECT_LT(relative_difference(*model->parameters().find(name), theta - 0.1 * (-g + 5e-4 * theta)), 1e-10);
}

TEST_F(Metrics, NegGradPlusStepByHand) {
  const std::string name = "classifier.weight";
  const Samples forget = samples(0, 10), retain = samples(10, 40);
  const auto model = plain_model(1), reference = plain_model(1);
  ASSERT_TRUE(neggrad_plus(*model, forget, retain, 0.9, {.rate = 0.1, .forget_batch = 10, .retain_batch = 30}).ok());
  reference->set_requires_grad(true);
  const auto loss = [&](const Samples& set) {
    const Batch batch = whole(set, *reference);
    return reference->sample_losses(reference->logits(batch.inputs), batch.labels).mean();
  };
  const Tensor g = gradient_of(*reference, loss(retain) * 0.9 - loss(forget) * 0.1, name);
  const Tensor theta = reference->parameters().find(name)->detach();
  EXPECT_LT(relative_difference(*model->parameters().find(name), theta - 0.1 * (g + 5e-4 * theta)), 1e-10);
}

TEST_F(Metrics, ScrubStepsByHand) {
  const std::string name = "classifier.weight";
  const Samples forget = samples(0, 10), retain = samples(10, 40);
  ScrubOptions options;
  options.base = {
      .epochs = 2, .rate = 0.1, .sgd = {.momentum = 0, .weight_decay = 0}, .forget_batch = 10, .retain_batch = 30};
  options.max_steps = 1;
  const auto model = plain_model(1), student = plain_model(1), teacher = plain_model(1);
  ASSERT_TRUE(scrub(*model, forget, retain, options).ok());
  // One step away on the forget set (its gradient is zero: student and teacher agree), then two near on the rest.
  const Batch batch = whole(retain, *student);
  for (int step = 0; step < 2; ++step) {
    student->set_requires_grad(true);
    const Tensor logits = student->logits(batch.inputs);
    const Tensor t = at::softmax(teacher->logits(batch.inputs) / 4, 1);
    const Tensor kl = (t * (t.log() - at::log_softmax(logits / 4, 1))).sum(1).mean() * 16;
    (student->sample_losses(logits, batch.labels).mean() * 0.99 + kl * 0.001).backward();
    const at::NoGradGuard no_grad;
    for (const Parameter& p : student->parameters().all()) {
      p.value.add_(p.value.grad(), -0.1);
      p.value.mutable_grad() = Tensor();
    }
  }
  EXPECT_LT(relative_difference(*model->parameters().find(name), *student->parameters().find(name)), 1e-8);
}

TEST_F(Metrics, ScrubMovesAwayOnceStudentAndTeacherDiffer) {
  const Samples forget = samples(0, 10), retain = samples(10, 40);
  ScrubOptions options;
  options.base = {.epochs = 3, .rate = 0.05, .sgd = {}, .forget_batch = 5, .retain_batch = 10};
  const auto model = plain_model(1);
  const double before = evaluate(*model, forget.batches(10))->mean_loss;
  options.alpha = 0, options.gamma = 1e-9, options.max_steps = 3;
  ASSERT_TRUE(scrub(*model, forget, retain, options).ok());
  EXPECT_GT(*alignment(*model, *plain_model(1), forget.batches(10)), 1e-3);
  EXPECT_NE(evaluate(*model, forget.batches(10))->mean_loss, before);
}

TEST_F(Metrics, StoppedBaselinesEndAsUninterruptedOnes) {
  const Samples forget = samples(0, 10), retain = samples(10, 40);
  const auto file = directory_.path() / "state.safetensors";
  const auto run = [&](const std::string& method, const Model& model, BaselineOptions base) {
    base.epochs = 2, base.rate = 0.05, base.forget_batch = 4, base.retain_batch = 8;
    if (method == "ga") return gradient_ascent(model, forget, base);
    if (method == "neggrad+") return neggrad_plus(model, forget, retain, 0.9, base);
    ScrubOptions options;
    options.base = base;
    return scrub(model, forget, retain, options);
  };
  for (const std::string method : {"ga", "neggrad+", "scrub"}) {
    std::filesystem::remove(file);
    const auto whole_run = tiny_vit(1), stopped = tiny_vit(1), resumed = tiny_vit(1);  // with dropout
    ASSERT_TRUE(run(method, *whole_run, {}).ok());
    int steps = 0;
    const auto stop = [&](int64_t) {
      if (++steps == 5) throw std::runtime_error("stopped");
    };
    EXPECT_FALSE(run(method, *stopped, {.checkpoint = file, .advance = stop}).ok());
    int left = 0;
    ASSERT_TRUE(run(method, *resumed, {.checkpoint = file, .advance = [&](int64_t) { ++left; }}).ok());
    EXPECT_LT(left, method == "ga" ? 6 : method == "scrub" ? 14 : 8);
    for (const Parameter& p : resumed->parameters().all())
      EXPECT_TRUE(at::equal(p.value, *whole_run->parameters().find(p.name))) << method << " " << p.name;
    EXPECT_NE(refusal(run(method, *resumed, {.seed = 7, .checkpoint = file})).find("another run"), std::string::npos);
  }
}

TEST_F(Metrics, BaselinesRefuseWhatCannotWork) {
  const Samples forget = samples(0, 10), retain = samples(10, 40);
  const auto model = plain_model(1);
  const std::string rule = "must be positive";
  for (const BaselineOptions& options : {BaselineOptions{.epochs = 0}, {.forget_batch = -1}, {.retain_batch = -1}}) {
    EXPECT_NE(refusal(gradient_ascent(*model, forget, options)).find(rule), std::string::npos) << options.text();
  }
  for (const double rate : {0.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_NE(refusal(gradient_ascent(*model, forget, {.rate = rate})).find("not positive and finite"),
              std::string::npos)
        << rate;
  }
  EXPECT_NE(refusal(neggrad_plus(*model, forget, retain, 0.9, {.epochs = 0})).find(rule), std::string::npos);
  ScrubOptions none;
  none.base.epochs = 0;
  EXPECT_NE(refusal(scrub(*model, forget, retain, none)).find(rule), std::string::npos);
  for (const double alpha : {-0.5, 1.5}) {
    EXPECT_NE(refusal(neggrad_plus(*model, forget, retain, alpha, {})).find("is not between 0 and 1"),
              std::string::npos);
  }
  const at::NoGradGuard no_grad;
  model->parameters().find("classifier.bias")->fill_(std::numeric_limits<double>::quiet_NaN());
  EXPECT_NE(refusal(gradient_ascent(*model, forget, {})).find("not finite"), std::string::npos);
}

TEST(Distillation, IsZeroForEqualsAndScaledByTemperature) {
  const Tensor a = at::tensor({1.0, 2.0, 4.0}).view({1, 3}), b = at::tensor({2.0, 2.0, 1.0}).view({1, 3});
  EXPECT_NEAR(distillation_loss(a, a, 4).item<double>(), 0, 1e-12);
  const Tensor p = at::softmax(b / 2, 1), q = at::softmax(a / 2, 1);
  EXPECT_NEAR(distillation_loss(a, b, 2).item<double>(), 4 * (p * (p / q).log()).sum().item<double>(), 1e-6);
}

TEST_F(Metrics, MaskOnly) {
  const auto model = tiny_vit(1);
  const std::vector<std::string> covered = {model->mlp_weights()[0]};
  const Tensor before = model->parameters().find(covered[0])->clone();
  const Tensor mask = at::zeros_like(before, at::kByte);
  mask[0].fill_(1);
  ASSERT_TRUE(mask_only(*model, covered, {mask}).ok());
  const Tensor& after = *model->parameters().find(covered[0]);
  EXPECT_EQ(after[0].abs().sum().item<double>(), 0);
  EXPECT_TRUE(at::equal(after[1], before[1]));
  EXPECT_NE(refusal(mask_only(*model, covered, {mask, mask})).find("2 masks for 1 weights"), std::string::npos);
  for (const auto& [name, shape] :
       {std::pair<std::string, Tensor>{covered[0], at::zeros({1}, at::kByte)}, {"stranger", mask}}) {
    EXPECT_NE(refusal(mask_only(*model, {name}, {shape})).find("does not fit the model"), std::string::npos) << name;
  }
}

// Appendix A against the same quantities from explicit matrices.
TEST_F(Metrics, ForgettingTermsMatchExplicitMatrices) {
  const auto before = plain_model(1), after = plain_model(1);
  const Samples forget = samples(0, 12);
  const std::vector<std::string> covered = before->mlp_weights();
  const double damping = 0.01;
  at::manual_seed(1);
  std::vector<Tensor> masks, gradients(covered.size());
  for (const std::string& name : covered) {
    const Tensor& weight = *after->parameters().find(name);
    masks.push_back((at::rand(weight.sizes()) < 0.1).to(at::kByte));
    weight.add_(at::randn(weight.sizes(), at::kDouble), 0.01).masked_fill_(masks.back() != 0, 0);
  }
  const auto found = forgetting_terms(*before, *after, covered, masks, damping, forget.batches(5));
  ASSERT_TRUE(found.ok()) << found.error().message;

  trace_batch(*before, whole(forget, *before), covered, [&](const LayerTrace& trace) {
    gradients[trace.layer] = trace.samples(0, 12, 0, trace.outputs.size(2)).flatten(1);
  });
  std::vector<Tensor> a, delta, mask;
  for (size_t k = 0; k < covered.size(); ++k) {
    mask.push_back(masks[k].flatten().to(at::kDouble));
    a.push_back(before->parameters().find(covered[k])->flatten());
    delta.push_back(after->parameters().find(covered[k])->flatten() - a.back());
  }
  const Tensor g = at::cat(gradients, 1), m = at::cat(mask), a_m = at::cat(a) * m, d_c = at::cat(delta) * (1 - m);
  const Tensor h = at::matmul(g.t(), g) / 12, mean = g.mean(0);
  const auto dot = [](const Tensor& x, const Tensor& y) { return (x * y).sum().item<double>(); };
  EXPECT_NEAR(found->mask, -dot(mean, a_m) + 0.5 * dot(a_m, at::matmul(h, a_m)), 1e-10);
  EXPECT_NEAR(found->linear, dot(mean, d_c), 1e-10);
  EXPECT_NEAR(found->cross, -dot(d_c, at::matmul(h, a_m)), 1e-10);
  EXPECT_NEAR(found->quadratic, 0.5 * dot(d_c, at::matmul(h, d_c)) + 0.5 * damping * dot(d_c, d_c), 1e-10);
  const Tensor b = (mean - at::matmul(h, a_m)) * (1 - m);
  EXPECT_NEAR(found->bound, dot(b, b) / (2 * damping), 1e-9);
  EXPECT_GE(found->compensation(), -found->bound);
  const double change =
      evaluate(*after, forget.batches(5))->mean_loss - evaluate(*before, forget.batches(5))->mean_loss;
  EXPECT_NEAR(found->measured, change, 1e-9);
}

}  // namespace
}  // namespace zkapex
