#include "experiments/code.h"

#include "base/hash.h"
#include "data/documents.h"
#include "data/shuffle.h"
#include "experiments/seeds.h"
#include "learning/model_files.h"
#include "learning/runtime.h"

namespace zkapex {

using nlohmann::json;

namespace {

json opt_config(const CodeSettings& s, size_t vocabulary) {
  return {{"model_type", "opt"},
          {"architectures", {"OPTForCausalLM"}},
          {"vocab_size", vocabulary},
          {"hidden_size", s.model.hidden},
          {"word_embed_proj_dim", s.model.hidden},
          {"num_hidden_layers", s.model.layers},
          {"num_attention_heads", s.model.heads},
          {"ffn_dim", s.model.intermediate},
          {"max_position_embeddings", s.window},
          {"activation_function", "relu"},
          {"do_layer_norm_before", true},
          {"dropout", 0.0},
          {"attention_dropout", 0.0}};
}

}  // namespace

Result<Code> Code::open(const CodeSettings& settings, uint64_t seed, const CellWork& work) {
  if (work.data.empty())
    return error("this experiment needs sources: collect them with scripts/collect-code DIR, and give --data DIR");
  ZKAPEX_TRY(const Placement placement, placement_on(work.device));
  Code out(settings, seed, work, placement);
  out.source_ = {DataSource::Kind::kText, work.data, "", Style::kPhoto};
  ZKAPEX_CHECK(out.open_tokenizer());
  ZKAPEX_CHECK(out.open_data());
  return out;
}

// One for all seeds: what a provider trains once.
Status Code::open_tokenizer() {
  ZKAPEX_TRY(const std::vector<Path> files, code_files(source_.path, settings_.data.languages));
  Sha256 digest;
  for (const Path& file : files) {
    ZKAPEX_TRY(const std::string text, read_text(file));
    digest.update(view(file.lexically_relative(source_.path).string()));
    digest.update(view(text));
  }
  digest_ = to_hex(digest.finish());
  const json key = {{"what", "tokenizer"}, {"size", settings_.vocabulary}, {"files", digest_}};
  ZKAPEX_TRY(const Path folder, cache_.get_folder(key, [&](const Path& out) -> Status {
    BpeTrainer trainer;
    for (const Path& file : files) {
      ZKAPEX_TRY(const std::string text, read_text(file));
      trainer.add(text);
    }
    Progress progress(work_->work.progress, "learning a vocabulary", "tokens",
                      static_cast<uint64_t>(settings_.vocabulary));
    BpeTraining options;
    options.size = static_cast<size_t>(settings_.vocabulary);
    options.advance = [&] { progress.advance(); };
    ZKAPEX_TRY(const Tokenizer tokenizer, trainer.train(options));
    return tokenizer.save(out);
  }));
  ZKAPEX_TRY(Tokenizer tokenizer, Tokenizer::load(folder));
  ZKAPEX_TRY(config_, parse_model_config(opt_config(settings_, tokenizer.size())));
  format_.window = settings_.window;
  format_.tokenizer = std::make_shared<const Tokenizer>(std::move(tokenizer));
  return Done{};
}

Status Code::open_data() {
  ZKAPEX_TRY(data_, open_dataset(source_, format_));
  ZKAPEX_TRY(splits_, deal_code(settings_.data, source_, data_->catalog(), seed_));
  return Done{};
}

uint64_t Code::seed(uint64_t use) const { return derived_seed(seed_, use); }

Result<std::unique_ptr<Model>> Code::load(const Path& directory) const {
  return load_model(directory, {.placement = placement_});
}

Result<Samples> Code::samples(const std::string& set) const {
  ZKAPEX_TRY(const SampleSet chosen, splits_.get(set));
  return Samples::over(data_, chosen, config_);
}

json Code::recipe(const std::string& what, const std::string& set, const TrainingOptions& options) const {
  return {{"what", what},
          {"seed", seed_},
          {"files", digest_},
          {"set", splits_.sets.at(set).indices},
          {"model", *config_.document},
          {"training", options.text()},
          {"device", placement_.device.is_cuda() ? "cuda" : "cpu"},
          {"program", ZKAPEX_VERSION}};
}

Result<Path> Code::trained_on(const std::string& set, const std::string& label) const {
  TrainingOptions options = settings_.training;
  options.seed = seed(kTraining);
  return cache_.get(recipe("trained", set, options), [&]() -> Result<std::unique_ptr<Model>> {
    auto model = make_model(config_, placement_);
    initialize(*model, seed(kInitial));
    ZKAPEX_TRY(const Samples windows, samples(set));
    ZKAPEX_CHECK(fit(*model, windows, Method::kFull, options, work_->work.progress, label));
    return model;
  });
}

Result<Path> Code::personalized(const Path& from, const std::string& label) const {
  const PersonalizationSettings& how = settings_.personalization;
  TrainingOptions options = how.training;
  options.seed = seed(kPersonal);
  json key = recipe("personalized", "personal", options);
  key["from"] = from.parent_path().filename().string();  // the digest of its own recipe
  key["lora"] = {{"rank", how.lora.rank}, {"alpha", how.lora.alpha}, {"dropout", how.lora.dropout}};
  return cache_.get(key, [&]() -> Result<std::unique_ptr<Model>> {
    ZKAPEX_TRY(auto model, load(from));
    LoraOptions branches = how.lora;
    branches.seed = seed(kBranches);
    ZKAPEX_CHECK(add_lora(*model, branches));
    ZKAPEX_TRY(const Samples windows, samples("personal"));
    ZKAPEX_CHECK(fit(*model, windows, Method::kLora, options, work_->work.progress, label));
    merge_lora(*model);
    return model;
  });
}

Result<Mask> Code::guided(const Deployment& deployment, const Mask& mask) const {
  ZKAPEX_TRY(const Path folder, original());
  ZKAPEX_TRY(const auto model, load(folder));
  ZKAPEX_TRY(const RehearsalData data, rehearsal_data(*this));
  const GuideInputs inputs{.original = folder,
                           .model = *model,
                           .retain = splits_.sets.at("retain"),
                           .format = format_,
                           .data = data,
                           .by_class = false,
                           .seed = seed(kRehearsal)};
  return guided_request(cache_, recipe("rehearsed", "retain", settings_.training), inputs, deployment, mask,
                        settings_.rehearsal, {}, *work_);
}

Result<Path> Code::original() const { return trained_on("train", "training"); }

Result<Path> Code::personal() const {
  ZKAPEX_TRY(const Path from, original());
  return personalized(from, "personalizing");
}

Result<Path> Code::exact() const {
  ZKAPEX_TRY(const Path from, trained_on("retain", "exact retraining"));
  return personalized(from, "personalizing the retrained model");
}

}  // namespace zkapex
