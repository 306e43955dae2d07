#include "cli/learning_common.h"

#include "base/files.h"
#include "learning/documents.h"
#include "learning/model_files.h"
#include "learning/runtime.h"

namespace zkapex::cli {

void add_learning(CLI::App& parent, Action& action) {
  add_split(parent, action);
  add_tokenize(parent, action);
  add_train_tokenizer(parent, action);
  add_train(parent, action);
  add_personalize(parent, action);
  add_saliency(parent, action);
  add_fisher(parent, action);
  add_baseline(parent, action);
  add_evaluate(parent, action);
  add_probe(parent, action);
  add_bench_learning(*parent.get_subcommand("bench"), action);
}

void LearningFlags::offer_model(CLI::App& command) {
  command.add_option("--model", model, "Directory of the model: config.json and safetensors")
      ->required()
      ->type_name("DIR");
}

void LearningFlags::offer_splits(CLI::App& command) {
  command.add_option("--splits", splits, "Split file (zkapex split)")->required()->type_name("FILE");
  command.add_option("--window", window, "Tokens of a sample of text")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void LearningFlags::offer_runtime(CLI::App& command) {
  command.add_option("--device", device, "Where to compute: cpu or cuda")->capture_default_str();
  command.add_option("--seed", seed, "Seed of all that is drawn at random")->capture_default_str();
  common.offer_threads(command);
  common.offer_force(command);
  common.offer_quiet(command);
}

Result<Samples> Session::samples(std::string_view set) const {
  ZKAPEX_TRY(const SampleSet chosen, splits.get(set));
  return Samples::open(chosen, format, model->config());
}

Result<Session> open_session(const LearningFlags& flags) {
  Session out;
  start_libtorch(flags.common.threads);
  ZKAPEX_TRY(out.placement, placement_on(flags.device));
  ZKAPEX_TRY(out.splits, Splits::load(flags.splits));
  ZKAPEX_TRY(out.model, load_model(flags.model, {.placement = out.placement, .seed = flags.seed}));
  ZKAPEX_TRY(out.format, InputFormat::of_model(flags.model, out.model->config(), flags.window));
  return out;
}

Result<std::unique_ptr<Model>> load_other_model(const Session& session, const path& directory) {
  return load_model(directory, {.placement = session.placement});
}

Result<Deployment> read_deployment(const path& file) {
  ZKAPEX_TRY(const Bytes bytes, read_file(file, Deployment::kMaxFileBytes));
  auto deployment = Deployment::parse(bytes);
  if (!deployment.ok()) return deployment.error().within(file.string());
  return deployment;
}

Result<Mask> read_mask(const path& file) {
  ZKAPEX_TRY(const Bytes bytes, read_file(file, Mask::kMaxFileBytes));
  auto mask = Mask::parse(bytes);
  if (!mask.ok()) return mask.error().within(file.string());
  return mask;
}

nlohmann::json given_options(const CLI::App& command) {
  nlohmann::json out = nlohmann::json::object();
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0) continue;
    const auto& values = option->results();
    out[option->get_name()] = values.size() == 1 ? nlohmann::json(values[0]) : nlohmann::json(values);
  }
  return out;
}

RunRecord::RunRecord(const CLI::App& command, const Session& session) {
  document_["command"] = command.get_name();
  document_["options"] = given_options(command);
  document_["versions"] = runtime_versions(session.placement);
}

Status RunRecord::add_inputs(const LearningFlags& flags) {
  nlohmann::json digests = nlohmann::json::object();
  ZKAPEX_TRY(digests["model"], model_digests(flags.model));
  ZKAPEX_TRY(digests["splits"], file_digest(flags.splits));
  document_["inputs"] = digests;
  return Done{};
}

Status RunRecord::write(const path& file) const { return write_text(file, document_.dump(2) + "\n"); }

}  // namespace zkapex::cli
