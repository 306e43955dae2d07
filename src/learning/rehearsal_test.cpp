#include "learning/rehearsal.h"

#include "base/result_testing.h"
#include "data/folders_testing.h"
#include "learning/evaluation.h"
#include "learning/guide_trial.h"
#include "learning/mask_tensors.h"
#include "learning/model_files.h"
#include "learning/synthetic.h"
#include "learning/tensor_testing.h"
#include "unlearning/guide_from.h"

namespace zkapex {
namespace {

using testing::refusal;

constexpr uint64_t kPull = 127 * 127;

// A small model that knows three classes, and the provider's data, the first class to be forgotten.
class RehearsalTest : public ::testing::Test {
 protected:
  RehearsalTest() : directory_("rehearsal"), pool_(2), model_(tiny_vit(1)) {
    write_synthetic_idx(directory_.path(), "train", 160, 3);
    const Samples all = samples(range(0, 120));
    EXPECT_TRUE(train(*model_, all, Method::kFull, {.epochs = 30, .batch = 16, .rate = 3e-3, .adamw = {}}).ok());
    EXPECT_TRUE(save_model(*model_, directory_.path() / "model").ok());
    const auto checkpoint = Checkpoint::open(directory_.path() / "model");
    std::vector<TensorInfo> tensors;
    for (const TensorView& view : checkpoint->tensors()) tensors.push_back(view.info());
    auto layout = Layout::make(tensors, *cover_preset("vit"), {.block = 16, .row = 256});
    auto deployment = Deployment::make(std::move(*layout), {});
    EXPECT_TRUE(deployment.ok()) << deployment.error().message;
    deployment_ = std::make_unique<Deployment>(std::move(*deployment));
    mask_.deployment = deployment_->digest();
    mask_.window = "w";
    const auto labels = samples(range(0, 120)).batch(range(0, 120))->labels;
    for (int64_t k = 0; k < 120; ++k) (labels[k].item<int64_t>() == 0 ? forget_ : retain_).push_back(k);
    retain_set_.source.path = directory_.path();
    retain_set_.source.part = "train";
    retain_set_.indices = retain_;
  }
  [[nodiscard]] Samples samples(std::vector<int64_t> indices) const {
    return open_samples(directory_.path(), "train", std::move(indices));
  }
  [[nodiscard]] RehearsalData data() const { return {samples(forget_), samples(retain_), samples(range(120, 160))}; }
  [[nodiscard]] Simulation simulation() {
    return {.original = *model_,
            .retain = retain_set_,
            .format = format_,
            .deployment = *deployment_,
            .masked = {},
            .pull = kPull,
            .options = {.training = {.epochs = 2, .batch = 16, .rate = 1e-3, .adamw = {}}},
            .folder = directory_.path() / "work",
            .pool = pool_};
  }
  [[nodiscard]] std::vector<SimulatedClient> clients() {
    std::vector<SimulatedClient> out;
    for (const char* domain : {"", "inverted"}) {
      auto client = simulation().client(domain);
      EXPECT_TRUE(client.ok()) << client.error().message;
      out.push_back(std::move(*client));
    }
    return out;
  }
  [[nodiscard]] std::vector<std::string> covered() { return *covered_by(*model_, deployment_->layout()); }
  [[nodiscard]] double accuracy(const Model& model, const std::vector<int64_t>& indices) const {
    return evaluate(model, samples(indices).batches(32))->accuracy;
  }

  TemporaryDirectory directory_;
  ThreadPool pool_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Deployment> deployment_;
  Mask mask_;
  std::vector<int64_t> forget_, retain_;
  SampleSet retain_set_;
  InputFormat format_{.preprocessing = Preprocessing::for_model(8, 1), .tokenizer = {}};
};

TEST_F(RehearsalTest, ClientsForgetTheClassAndKeepTheOthers) {
  const auto clients = this->clients();
  ASSERT_GT(accuracy(*clients[1].model, forget_), 0.8);
  const auto guide = rehearse(clients, covered(), data(), {.steps = 120, .batch = 32, .rate = 3e-3, .seed = 1});
  ASSERT_TRUE(guide.ok()) << guide.error().message;

  const std::unique_ptr<Model> displaced = clone(*model_);
  for (size_t k = 0; k < guide->size(); ++k) displaced->parameters().find(covered()[k])->add_((*guide)[k]);
  ASSERT_TRUE(save_model(*displaced, directory_.path() / "displaced").ok());
  Mask request = mask_;
  request.op = Operator::kGuided;
  request.guidance.emplace().pull = kPull;
  auto made = guide_from(*deployment_, {}, *Checkpoint::open(directory_.path() / "displaced"),
                         *Checkpoint::open(directory_.path() / "model"), 1);
  ASSERT_TRUE(made.ok()) << made.error().message;
  request.guidance->guide = std::move(*made);
  std::vector<ClientTrial> trials;
  for (const SimulatedClient& client : clients) {
    auto trial = try_guide(simulation(), client, request, samples(forget_), 0);
    ASSERT_TRUE(trial.ok()) << trial.error().message;
    EXPECT_LT(trial->forget_after.accuracy, 0.2) << trial->client;
    EXPECT_GT(trial->kept_after.accuracy, trial->kept_before.accuracy - 0.1) << trial->client;
    EXPECT_GT(trial->forget_after.loss, trial->forget_before.loss);
    EXPECT_EQ(trial->tensors.size(), 4U);
    trials.push_back(std::move(*trial));
  }
  ASSERT_TRUE(set_rules(trials, *request.guidance).ok());
  EXPECT_GT(request.guidance->progress, 0U);
  EXPECT_TRUE(request.check_for(*deployment_).ok());
}

TEST_F(RehearsalTest, SamplesLoseTheirLowLosses) {
  const auto clients = this->clients();
  const auto before = evaluate(*model_, samples(forget_).batches(32));
  const auto held_out = evaluate(*model_, samples(range(120, 160)).batches(32));
  const auto guide =
      rehearse(clients, covered(), data(),
               {.forgetting = Forgetting::kSamples, .steps = 60, .batch = 32, .rate = 3e-3, .weight = 1, .seed = 1});
  ASSERT_TRUE(guide.ok()) << guide.error().message;
  const std::unique_ptr<Model> moved = clone(*model_);
  for (size_t k = 0; k < guide->size(); ++k)
    moved->parameters().find(covered()[k])->copy_(clients[0].map.weights(k, (*guide)[k]));
  const auto after = evaluate(*moved, samples(forget_).batches(32));
  EXPECT_LT(std::abs(after->mean_loss - held_out->mean_loss), std::abs(before->mean_loss - held_out->mean_loss));
}

TEST_F(RehearsalTest, GoesOnWhereItWasStopped) {
  const auto clients = this->clients();
  RehearsalOptions options{.steps = 6, .batch = 16, .seed = 1};
  options.checkpoint_every = 3;
  const auto whole = rehearse(clients, covered(), data(), options);
  options.checkpoint = directory_.path() / "guide.safetensors";
  const auto stopped = rehearse(clients, covered(), data(), options, [](const RehearsalStep& now) -> Status {
    if (now.step == 4) return error("stopped");
    return Done{};
  });
  EXPECT_EQ(refusal(stopped), "stopped");
  int64_t steps = 0;
  const auto resumed = rehearse(clients, covered(), data(), options, [&](const RehearsalStep&) -> Status {
    ++steps;
    return Done{};
  });
  ASSERT_TRUE(resumed.ok()) << resumed.error().message;
  EXPECT_EQ(steps, 3);
  for (size_t k = 0; k < whole->size(); ++k) EXPECT_TRUE(at::equal((*whole)[k], (*resumed)[k]));
  options.rate *= 2;
  EXPECT_NE(refusal(rehearse(clients, covered(), data(), options)).find("another run"), std::string::npos);
}

TEST_F(RehearsalTest, ClientsAreMadeOnce) {
  const auto first = simulation().client("noise");
  ASSERT_TRUE(first.ok()) << first.error().message;
  const auto time = std::filesystem::last_write_time(simulation().store("noise"));
  const auto second = simulation().client("noise");
  ASSERT_TRUE(second.ok()) << second.error().message;
  EXPECT_EQ(std::filesystem::last_write_time(simulation().store("noise")), time);
  const std::string name = covered()[0];
  EXPECT_TRUE(at::equal(*first->model->parameters().find(name), *second->model->parameters().find(name)));
  EXPECT_NE(refusal(simulation().client("pastel")).find("there is no style 'pastel'"), std::string::npos);
}

TEST_F(RehearsalTest, RefusesWhatItCannotForget) {
  RehearsalData data = this->data();
  EXPECT_EQ(refusal(rehearse({}, covered(), data, {.steps = 1})), "there is no client to rehearse with");
  data.held_out.reset();
  EXPECT_EQ(refusal(rehearse({}, covered(), data, {.forgetting = Forgetting::kSamples, .steps = 1})),
            "to forget samples needs samples that were never trained on");
}

TEST(SimulatedClient, PartsOfFiles) {
  SampleSet text;
  text.source.kind = DataSource::Kind::kText;
  EXPECT_EQ(default_domains(text), (std::vector<std::string>{"1/2", "2/2"}));
  for (const char* part : {"1/1", "1/2", "2/2", "3/7"}) EXPECT_TRUE(check_domain(text, part).ok()) << part;
  for (const char* none : {"", "1", "1/", "/2", "0/2", "3/2", "1/2/3", "a/b", "1/2 ", "half"})
    EXPECT_FALSE(check_domain(text, none).ok()) << none;
}

TEST(RehearsalOptionsTest, AreChecked) {
  EXPECT_TRUE(RehearsalOptions{}.check().ok());
  EXPECT_FALSE((RehearsalOptions{.steps = 0}).check().ok());
  EXPECT_FALSE((RehearsalOptions{.batch = 1}).check().ok());
  EXPECT_FALSE((RehearsalOptions{.rate = 0}).check().ok());
  EXPECT_FALSE((RehearsalOptions{.weight = std::numeric_limits<double>::infinity()}).check().ok());
  EXPECT_FALSE(forgetting_named("files").ok());
  EXPECT_EQ(*forgetting_named("samples"), Forgetting::kSamples);
}

TEST(Rules, FromTrialsHaveRoomToSpare) {
  ClientTrial near, far;
  near.tensors = {{"a", 0.8, 0.1, 0}, {"b", 0.6, 3, 1}};
  far.tensors = {{"a", 0.5, 0.4, 0}, {"b", 0.7, 3.5, 1}};
  Guidance guidance;
  ASSERT_TRUE(set_rules({near, far}, guidance).ok());
  EXPECT_EQ(guidance.progress, 250U);
  EXPECT_EQ(guidance.distance, 3000U);  // twice 3.5 − 2 · 1
  EXPECT_EQ(guidance.distance_removed, 2000U);
  ASSERT_TRUE(set_rules({}, guidance).ok());
  EXPECT_EQ(guidance.distance, 1000U);
  far.client = "far";
  far.tensors[1].progress = 0.09;
  EXPECT_NE(refusal(set_rules({near, far}, guidance)).find("'far' follows the guide by 0.090"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
