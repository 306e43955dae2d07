#include "experiments/vision.h"

#include "base/hash.h"
#include "data/shuffle.h"
#include "learning/model_files.h"
#include "learning/runtime.h"

namespace zkapex {

using nlohmann::json;

namespace {

std::string digest_of(const SampleSet& set) {
  const std::string text = json{{"source", set.source.text()}, {"indices", set.indices}}.dump();
  return to_hex(sha256(view(text)));
}

}  // namespace

Result<Vision> Vision::open(const VisionSettings& settings, const ForgetRequest& request, uint64_t seed,
                            const CellWork& work) {
  ZKAPEX_TRY(const Placement placement, placement_on(work.device));
  ZKAPEX_TRY(ModelConfig config, parse_model_config(vit_config(settings.model)));
  ImageDeal deal = settings.images;
  deal.data = work.data.empty() ? default_images() : work.data;
  deal.seed = seed;
  deal.forget = request.forget;
  deal.overlap = request.overlap;
  ZKAPEX_TRY(std::vector<Splits> splits, deal_images(deal));
  return Vision(settings, request, seed, work, placement, std::move(config), std::move(splits.front()));
}

uint64_t Vision::seed(uint64_t use) const { return derived_seed(seed_, use); }

Result<std::unique_ptr<Model>> Vision::load(const Path& directory) const {
  return load_model(directory, {.placement = placement_});
}

Result<MeasuredSets> Vision::measured_sets() {
  return MeasuredSets::open(images_, config_, work_->measured_on, settings_.members, seed_);
}

json Vision::recipe(const std::string& what, const std::string& set, const TrainingOptions& options) const {
  return {{"what", what},
          {"seed", seed_},
          {"set", digest_of(images_.splits().sets.at(set))},
          {"model", vit_config(settings_.model)},
          {"training", options.text()},
          {"device", placement_.device.is_cuda() ? "cuda" : "cpu"},
          {"program", ZKAPEX_VERSION}};
}

Result<Path> Vision::trained_on(const std::string& set, const std::string& label) {
  TrainingOptions options = settings_.training;
  options.seed = seed(kTraining);
  return cache_.get(recipe("trained", set, options), [&]() -> Result<std::unique_ptr<Model>> {
    auto model = make_model(config_, placement_);
    initialize(*model, seed(kInitial));
    ZKAPEX_TRY(const Samples photos, samples(set));
    ZKAPEX_CHECK(fit(*model, photos, Method::kFull, options, work_->work.progress, label));
    return model;
  });
}

Result<Path> Vision::personalized(const Path& from, const std::string& label) {
  const PersonalizationSettings& how = settings_.personalization;
  TrainingOptions options = how.training;
  options.seed = seed(kPersonal);
  json key = recipe("personalized", "personal", options);
  key["from"] = from.parent_path().filename().string();  // the digest of its own recipe
  key["method"] = static_cast<int>(how.method);
  if (how.method == Method::kAdaptFormer)
    key["adaptformer"] = {{"bottleneck", how.adaptformer.bottleneck}, {"scale", how.adaptformer.scale}};
  if (how.method == Method::kLora)
    key["lora"] = {{"rank", how.lora.rank}, {"alpha", how.lora.alpha}, {"dropout", how.lora.dropout}};
  return cache_.get(key, [&]() -> Result<std::unique_ptr<Model>> {
    ZKAPEX_TRY(auto model, load(from));
    if (how.method == Method::kAdaptFormer) {
      AdaptFormerOptions branches = how.adaptformer;
      branches.seed = seed(kBranches);
      ZKAPEX_CHECK(add_adaptformer(*model, branches));
    } else if (how.method == Method::kLora) {
      LoraOptions branches = how.lora;
      branches.seed = seed(kBranches);
      ZKAPEX_CHECK(add_lora(*model, branches));
    }
    ZKAPEX_TRY(const Samples drawings, samples("personal"));
    ZKAPEX_CHECK(fit(*model, drawings, how.method, options, work_->work.progress, label));
    if (how.method == Method::kLora) merge_lora(*model);
    return model;
  });
}

Result<Mask> Vision::guided(const Deployment& deployment, const Mask& mask, const GuideChange& change, uint64_t use) {
  ZKAPEX_TRY(const Path folder, original());
  ZKAPEX_TRY(const auto model, load(folder));
  ZKAPEX_TRY(const RehearsalData data, rehearsal_data(*this));
  const InputFormat format = image_format();
  const GuideInputs inputs{.original = folder,
                           .model = *model,
                           .retain = images_.splits().sets.at("retain"),
                           .format = format,
                           .data = data,
                           .by_class = by_class_,
                           .seed = seed(use)};
  return guided_request(cache_, recipe("rehearsed", "retain", settings_.training), inputs, deployment, mask,
                        settings_.rehearsal, change, *work_);
}

Result<Path> Vision::original() { return trained_on("train", "training"); }

Result<Path> Vision::personal() {
  ZKAPEX_TRY(const Path from, original());
  return personalized(from, "personalizing");
}

Result<Path> Vision::retrained() { return trained_on("retain", "exact retraining"); }

Result<Path> Vision::exact() {
  ZKAPEX_TRY(const Path from, retrained());
  return personalized(from, "personalizing the retrained model");
}

}  // namespace zkapex
