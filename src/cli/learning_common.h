// What the commands of the learning room share: flags, models with their data, the record of a run.
#pragma once

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "cli/command.h"
#include "cli/work.h"
#include "learning/dataset.h"
#include "learning/model.h"
#include "learning/splits.h"
#include "unlearning/deployment.h"
#include "unlearning/mask.h"

namespace zkapex::cli {

using std::filesystem::path;

void add_split(CLI::App& parent, Action& action);
void add_tokenize(CLI::App& parent, Action& action);
void add_train_tokenizer(CLI::App& parent, Action& action);
void add_train(CLI::App& parent, Action& action);
void add_personalize(CLI::App& parent, Action& action);
void add_saliency(CLI::App& parent, Action& action);
void add_fisher(CLI::App& parent, Action& action);
void add_baseline(CLI::App& parent, Action& action);
void add_evaluate(CLI::App& parent, Action& action);
void add_probe(CLI::App& parent, Action& action);
void add_bench_learning(CLI::App& bench, Action& action);

struct LearningFlags {
  CommonFlags common;
  path model, splits;
  std::string device = "cpu";
  uint64_t seed = 0;
  int64_t window = 128;

  void offer_model(CLI::App& command);
  void offer_splits(CLI::App& command);
  void offer_runtime(CLI::App& command);  // --device, --threads, --seed, --quiet, --force
};

// An open session: libtorch started, the model loaded, the split file read. Nothing else is read before all that works.
struct Session {
  Placement placement;
  std::unique_ptr<Model> model;
  InputFormat format;
  Splits splits;

  [[nodiscard]] Result<Samples> samples(std::string_view set) const;
};
[[nodiscard]] Result<Session> open_session(const LearningFlags& flags);
[[nodiscard]] Result<std::unique_ptr<Model>> load_other_model(const Session& session, const path& directory);

[[nodiscard]] Result<Deployment> read_deployment(const path& file);
[[nodiscard]] Result<Mask> read_mask(const path& file);

// What a command did, as JSON beside its output: arguments, versions, digests of what it read, and what came out.
class RunRecord {
 public:
  RunRecord(const CLI::App& command, const Session& session);
  [[nodiscard]] Status add_inputs(const LearningFlags& flags);
  void add(const std::string& key, nlohmann::json value) { document_[key] = std::move(value); }
  [[nodiscard]] Status write(const path& file) const;

 private:
  nlohmann::ordered_json document_;
};

// The options of a command that were given, by name.
[[nodiscard]] nlohmann::json given_options(const CLI::App& command);

}  // namespace zkapex::cli
