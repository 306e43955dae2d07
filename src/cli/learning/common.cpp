#include "cli/learning/common.h"

#include <algorithm>

#include "data/documents.h"
#include "learning/lora.h"
#include "learning/model_files.h"
#include "learning/runtime.h"

namespace zkapex::cli {

void LearningFlags::offer_model(Command command) {
  command.add_option("--model", model, "Directory of the model: config.json and safetensors")
      .required()
      .type_name("DIR");
  command.add_option("--weights", weights, "Weights in place of those in the directory: what unlearn wrote")
      .type_name("FILE");
  command.add_option("--adapter", adapter, "LoRA adapter in PEFT's files, to be merged into the model")
      .type_name("DIR");
}

void LearningFlags::offer_splits(Command command) {
  command.add_option("--splits", splits, "Split file (zkapex split)").required().type_name("FILE");
  command.add_option("--context", context, "Tokens of a sample of text").positive().shows_default();
}

void offer_device(Command command, std::string& device) {
  command.add_option("--device", device, "Where to compute: cpu, cuda, or cuda:1 for the second GPU").shows_default();
}

void LearningFlags::offer_runtime(Command command) {
  offer_device(command, device);
  command.add_option("--seed", seed, "Seed of all that is drawn at random").shows_default();
  common.offer_threads(command);
  common.offer_json(command);
  common.offer_force(command);
  common.offer_quiet(command);
}

Result<Samples> Session::samples(std::string_view set) {
  ZKAPEX_TRY(const SampleSet chosen, splits.get(set));
  std::shared_ptr<const Dataset>& data = open_[chosen.source.text()];
  if (!data) {
    ZKAPEX_TRY(data, open_dataset(chosen.source, format));
  }
  return Samples::over(data, chosen, model->config());
}

Result<std::unique_ptr<Model>> load_flagged_model(const LearningFlags& flags, const Placement& placement,
                                                  std::optional<int64_t> classes) {
  ZKAPEX_TRY(auto model, load_model(flags.model, {placement, classes, flags.seed, flags.weights}));
  if (!flags.adapter.empty()) {
    ZKAPEX_CHECK(load_lora(*model, flags.adapter));
    merge_lora(*model);
  }
  return model;
}

Result<Session> open_session(const LearningFlags& flags) {
  Session out;
  start_libtorch(flags.common.threads);
  ZKAPEX_TRY(out.placement, placement_on(flags.device));
  ZKAPEX_TRY(out.splits, Splits::load(flags.splits));
  out.directory = flags.model;
  ZKAPEX_TRY(out.model, load_flagged_model(flags, out.placement));
  ZKAPEX_TRY(out.format, InputFormat::of_model(flags.model, out.model->config(), flags.context));
  out.format.progress = flags.common.progress_style();
  return out;
}

Result<std::unique_ptr<Model>> load_other_model(const Session& session, const path& model) {
  if (std::filesystem::is_regular_file(model))
    return load_model(session.directory, {.placement = session.placement, .weights = model});
  return load_model(model, {.placement = session.placement});
}

BatchSource counted(BatchSource batches, Progress& progress) {
  return [batches = std::move(batches), &progress](const BatchVisitor& visit) {
    return batches([&](const Batch& batch) -> Status {
      ZKAPEX_CHECK(visit(batch));
      progress.advance(static_cast<uint64_t>(batch.size()));
      return Done{};
    });
  };
}

int64_t used_samples(const Samples& samples, int64_t limit) {
  return limit > 0 ? std::min(limit, samples.size()) : samples.size();
}

nlohmann::json given_options(const Command& command) {
  nlohmann::json out = nlohmann::json::object();
  for (const auto& [name, values] : command.given_options())
    out[name] = values.size() == 1 ? nlohmann::json(values[0]) : nlohmann::json(values);
  return out;
}

Result<RunRecord> RunRecord::begin(const Command& command, const LearningFlags& flags, const Session& session) {
  RunRecord out;
  out.document_["command"] = command.name();
  out.document_["options"] = given_options(command);
  out.document_["seed"] = flags.seed;
  out.document_["versions"] = runtime_versions(session.placement);
  nlohmann::json digests = nlohmann::json::object();
  ZKAPEX_TRY(digests["model"], model_digests(flags.model));
  if (!flags.weights.empty()) {
    ZKAPEX_TRY(digests["weights"], file_digest(flags.weights));
  }
  if (!flags.adapter.empty()) {
    ZKAPEX_TRY(digests["adapter"], model_digests(flags.adapter));
  }
  ZKAPEX_TRY(digests["splits"], file_digest(flags.splits));
  out.document_["inputs"] = digests;
  return out;
}

Status RunRecord::add_input(const std::string& name, const path& file) {
  if (std::filesystem::is_directory(file)) {
    ZKAPEX_TRY(document_["inputs"][name], model_digests(file));
  } else {
    ZKAPEX_TRY(document_["inputs"][name], file_digest(file));
  }
  return Done{};
}

Status RunRecord::add_output(const path& file) {
  if (std::filesystem::is_directory(file)) {
    ZKAPEX_TRY(document_["outputs"], model_digests(file));
  } else {
    ZKAPEX_TRY(document_["outputs"][file.filename().string()], file_digest(file));
  }
  return Done{};
}

std::string RunRecord::run() const {
  nlohmann::ordered_json run = document_;
  for (const char* name : {"--force", "--json", "--quiet"}) run["options"].erase(name);
  return run.dump(2) + "\n";
}

Status RunRecord::claim(const path& unfinished, const path& note, bool force) const {
  const std::string text = run();
  std::error_code code;
  if (std::filesystem::exists(unfinished, code)) {
    const auto begun = read_text(note);
    if (!begun.ok() || *begun != text) {
      if (!force)
        return error("{} is the unfinished output of another run; remove it, or --force to start again",
                     unfinished.string());
      std::filesystem::remove_all(unfinished, code);
      if (code) return error("{} cannot be removed: {}", unfinished.string(), code.message());
    }
  }
  return write_text(note, text);
}

void RunRecord::print(bool json, const std::string& line) const { fmt::print("{}\n", json ? document_.dump(2) : line); }

Status RunRecord::write(const path& file) const { return write_text(file, document_.dump(2) + "\n"); }

}  // namespace zkapex::cli
