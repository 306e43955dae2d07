// The demo's learning: the provider's model, the same without the forgotten images, and the clients' own.
#include "data/shuffle.h"
#include "demo/run.h"
#include "experiments/seeds.h"
#include "learning/model_files.h"

namespace zkapex::demo {

namespace {

Result<double> train_on(DemoRun& run, Model& model, const SampleSet& set, TrainingOptions options, uint64_t use,
                        const std::string& label) {
  ZKAPEX_TRY(const Samples samples, Samples::open(set, image_format(), model.config()));
  options.seed = derived_seed(run.settings.seed, use);
  return fit(model, samples, Method::kFull, options, run.work.progress, label);
}

Status train_from_scratch(DemoRun& run, const std::string& set, const Path& folder, const std::string& label) {
  ZKAPEX_TRY(const ModelConfig config, parse_model_config(vit_config(run.settings.model())));
  const auto model = make_model(config, run.placement);
  initialize(*model, derived_seed(run.settings.seed, kInitial));
  const SampleSet& samples = run.splits[0].sets.at(set);
  ZKAPEX_TRY(const double seconds, train_on(run, *model, samples, run.settings.training, kTraining, label));
  ZKAPEX_CHECK(save_model(*model, folder));
  int64_t parameters = 0;
  for (const Parameter& p : model->parameters().all()) parameters += p.value.numel();
  run.report["model"]["parameters"] = parameters;
  run.report["seconds"][set == "train" ? "train" : "retrain"] = seconds;
  run.tell.say(fmt::format("    {} photos, {} epochs, {} weights: {:.0f} s", samples.indices.size(),
                           run.settings.training.epochs, parameters, seconds));
  return Done{};
}

}  // namespace

Status train_original(DemoRun& run) {
  run.tell.step("provider", "trains a small ViT on photos of clothes");
  ZKAPEX_TRY(run.splits, deal_images(run.settings.images()));
  for (size_t k = 0; k < run.splits.size(); ++k) {
    const std::string& client = run.settings.clients[k];
    ZKAPEX_CHECK(make_folder(run.files.client(client)));
    ZKAPEX_CHECK(run.splits[k].save(run.files.splits(client)));
  }
  ZKAPEX_CHECK(make_folder(run.files.original()));
  return train_from_scratch(run, "train", run.files.original(), "training");
}

Status retrain_without_forgotten(DemoRun& run) {
  run.tell.step(
      "", fmt::format("for comparison only: the same training without {}, from the start", run.settings.forgotten()));
  ZKAPEX_CHECK(make_folder(run.files.retrained()));
  return train_from_scratch(run, "retain", run.files.retrained(), "exact retraining");
}

Status personalize_clients(DemoRun& run) {
  run.tell.step("clients", "each fine-tunes the model on sketches of its own");
  for (size_t k = 0; k < run.settings.clients.size(); ++k) {
    const std::string& client = run.settings.clients[k];
    const SampleSet& drawings = run.splits[k].sets.at("personal");
    // The retrained model is personalized in the same way, for the comparison.
    for (const bool exact : {false, true}) {
      const Path from = exact ? run.files.retrained() : run.files.original();
      const Path to = exact ? run.files.retrained(client) : run.files.personal(client);
      ZKAPEX_TRY(const auto model, load_model(from, {.placement = run.placement}));
      const std::string label = fmt::format("{} personalizes{}", client, exact ? " the retrained model" : "");
      ZKAPEX_TRY(const double seconds,
                 train_on(run, *model, drawings, run.settings.personalization, kPersonal + k, label));
      ZKAPEX_CHECK(make_folder(to));
      ZKAPEX_CHECK(save_model(*model, to));
      run.client_report(k)["seconds"][exact ? "personalize_retrained" : "personalize"] = seconds;
      if (!exact) run.tell.say(fmt::format("    {}: {} drawings, {:.0f} s", client, drawings.indices.size(), seconds));
    }
  }
  return Done{};
}

}  // namespace zkapex::demo
