// What the commands of the learning room share: flags, models with their data, the record of a run.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "attestation/inputs.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/learning/names.h"
#include "cli/work.h"
#include "data/splits.h"
#include "learning/dataset.h"
#include "learning/model.h"

namespace zkapex::cli {

using std::filesystem::path;

void add_split(Command parent, Action& action);
void add_tokenize(Command parent, Action& action);
void add_train_tokenizer(Command parent, Action& action);
void add_train(Command parent, Action& action);
void add_personalize(Command parent, Action& action);
void add_saliency(Command parent, Action& action);
void add_rehearse(Command parent, Action& action);
void add_fisher(Command parent, Action& action);
void add_baseline(Command parent, Action& action);
void add_evaluate(Command parent, Action& action);
void add_probe(Command parent, Action& action);
void add_experiment(Command parent, Action& action);
void add_demo(Command parent, Action& action);
void add_bench_learning(Command bench, Action& action);

void offer_device(Command command, std::string& device);

struct LearningFlags {
  CommonFlags common;
  path model, weights, adapter, splits;
  std::string device = "cpu";
  uint64_t seed = 0;
  int64_t context = 128;

  void offer_model(Command command);  // --model, --weights, --adapter
  void offer_splits(Command command);
  void offer_runtime(Command command);  // --device, --threads, --seed, --json, --quiet, --force
};

// An open session: libtorch started, the model loaded, the split file read. Nothing else is read before all that works.
class Session {
 public:
  Placement placement;
  path directory;  // of the model
  std::unique_ptr<Model> model;
  InputFormat format;
  Splits splits;

  // Sets of one source share it.
  [[nodiscard]] Result<Samples> samples(std::string_view set);

 private:
  std::map<std::string, std::shared_ptr<const Dataset>> open_;  // by the source's text
};
[[nodiscard]] Result<Session> open_session(const LearningFlags& flags);
// The model of the flags, with the adapter merged into its weights. `classes` as for load_model.
[[nodiscard]] Result<std::unique_ptr<Model>> load_flagged_model(const LearningFlags& flags, const Placement& placement,
                                                                std::optional<int64_t> classes = {});
// Another model: its folder, or a checkpoint for the configuration of the session's model.
[[nodiscard]] Result<std::unique_ptr<Model>> load_other_model(const Session& session, const path& model);

// Tells `progress` of the samples of every batch that goes by. It must outlive the source.
[[nodiscard]] BatchSource counted(BatchSource batches, Progress& progress);
// How many samples Samples::batches gives.
[[nodiscard]] int64_t used_samples(const Samples& samples, int64_t limit);

// What a command did, as JSON beside its output: arguments, seed, versions, digests of what it read and wrote, figures.
class RunRecord {
 public:
  // With digests of the model, the adapter and the split file.
  [[nodiscard]] static Result<RunRecord> begin(const Command& command, const LearningFlags& flags,
                                               const Session& session);
  void add(const std::string& key, nlohmann::json value) { document_[key] = std::move(value); }
  [[nodiscard]] Status add_input(const std::string& name, const path& file);
  [[nodiscard]] Status add_output(const path& file);
  [[nodiscard]] Status write(const path& file) const;
  // To standard output: the whole record as JSON, or `line`.
  void print(bool json, const std::string& line) const;

  // All that decides the result: the record so far, without the options that only say how to tell of it.
  [[nodiscard]] std::string run() const;
  // A stopped run is gone on with only by the command, options and inputs that began it: `note`, beside the unfinished
  // output, tells which these were. What another run has left is an error, or is removed with `force`.
  [[nodiscard]] Status claim(const path& unfinished, const path& note, bool force) const;

 private:
  nlohmann::ordered_json document_;
};

// The options of a command that were given, by name.
[[nodiscard]] nlohmann::json given_options(const Command& command);

}  // namespace zkapex::cli
