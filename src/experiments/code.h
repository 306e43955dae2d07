// One seed of the experiment with code: tokenizer, sets, and the models that everything starts from, made when first
// asked for and shared with all that use the same settings.
#pragma once

#include "experiments/code_data.h"
#include "experiments/learning_settings.h"
#include "experiments/model_cache.h"
#include "tables/experiment.h"

namespace zkapex {

struct OptShape {
  int64_t hidden = 256, layers = 4, heads = 4, intermediate = 1024;
};

struct CodeSettings : LearningSettings {
  CodeDeal data;
  int64_t vocabulary = 4096, window = 128;
  OptShape model;

  [[nodiscard]] static Result<CodeSettings> parse(const nlohmann::json& settings, const std::string& where);
  [[nodiscard]] nlohmann::ordered_json describe() const;  // for reports
};

class Code {
 public:
  // `work` must outlive it.
  [[nodiscard]] static Result<Code> open(const CodeSettings& settings, uint64_t seed, const CellWork& work);

  // Directories of models.
  [[nodiscard]] Result<Path> original() const;  // θ0, trained on D
  [[nodiscard]] Result<Path> personal() const;  // θ_p = P(θ0; D_p)
  [[nodiscard]] Result<Path> exact() const;     // P(the same trained on D_r; D_p)

  // A mask of this provider, with the guide that it learned in a rehearsal.
  [[nodiscard]] Result<Mask> guided(const Deployment& deployment, const Mask& mask) const;

  [[nodiscard]] Result<std::unique_ptr<Model>> load(const Path& directory) const;
  [[nodiscard]] Result<Samples> samples(const std::string& set) const;
  [[nodiscard]] const CodeSettings& settings() const { return settings_; }
  [[nodiscard]] const CellWork& work() const { return *work_; }
  [[nodiscard]] uint64_t seed(uint64_t use) const;  // for one use

 private:
  Code(CodeSettings settings, uint64_t seed, const CellWork& work, Placement placement)
      : settings_(std::move(settings)), seed_(seed), work_(&work), placement_(placement), cache_(work.models) {}

  [[nodiscard]] Status open_tokenizer();
  [[nodiscard]] Status open_data();
  [[nodiscard]] Result<Path> trained_on(const std::string& set, const std::string& label) const;
  [[nodiscard]] Result<Path> personalized(const Path& from, const std::string& label) const;
  [[nodiscard]] nlohmann::json recipe(const std::string& what, const std::string& set,
                                      const TrainingOptions& options) const;

  CodeSettings settings_;
  uint64_t seed_;
  const CellWork* work_;
  Placement placement_;
  ModelCache cache_;
  DataSource source_;
  std::string digest_;  // of all files
  ModelConfig config_;
  InputFormat format_;
  std::shared_ptr<const Dataset> data_;
  Splits splits_;
};

}  // namespace zkapex
