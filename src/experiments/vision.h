// One seed of an experiment with images: its sets, and the models that everything starts from, trained when first asked
// for and shared with all that use the same settings.
#pragma once

#include "experiments/measuring.h"
#include "experiments/model_cache.h"
#include "experiments/seeds.h"
#include "experiments/vision_settings.h"
#include "tables/experiment.h"

namespace zkapex {

class Vision {
 public:
  // `work` must outlive it.
  [[nodiscard]] static Result<Vision> open(const VisionSettings& settings, const ForgetRequest& request, uint64_t seed,
                                           const CellWork& work);

  // Directories of models.
  [[nodiscard]] Result<Path> original();   // θ0, trained on D
  [[nodiscard]] Result<Path> personal();   // θ_p = P(θ0; D_p)
  [[nodiscard]] Result<Path> retrained();  // trained on D_r, from the same initial weights in the same way
  [[nodiscard]] Result<Path> exact();      // P(that; D_p)

  // A mask of this provider, with the guide that it learned in a rehearsal; another `use` of the seed is another one.
  [[nodiscard]] Result<Mask> guided(const Deployment& deployment, const Mask& mask, const GuideChange& change,
                                    uint64_t use = kRehearsal);

  [[nodiscard]] Result<std::unique_ptr<Model>> load(const Path& directory) const;
  [[nodiscard]] Result<Samples> samples(const std::string& set) { return images_.open(set, config_); }
  [[nodiscard]] Result<MeasuredSets> measured_sets();

  [[nodiscard]] const VisionSettings& settings() const { return settings_; }
  [[nodiscard]] const CellWork& work() const { return *work_; }
  // A seed for one use.
  [[nodiscard]] uint64_t seed(uint64_t use) const;

 private:
  Vision(VisionSettings settings, const ForgetRequest& request, uint64_t seed, const CellWork& work,
         Placement placement, ModelConfig config, Splits splits)
      : settings_(std::move(settings)),
        by_class_(request.by_class()),
        seed_(seed),
        work_(&work),
        placement_(placement),
        config_(std::move(config)),
        images_(std::move(splits)),
        cache_(work.models) {}

  [[nodiscard]] Result<Path> trained_on(const std::string& set, const std::string& label);
  [[nodiscard]] Result<Path> personalized(const Path& from, const std::string& label);
  [[nodiscard]] nlohmann::json recipe(const std::string& what, const std::string& set,
                                      const TrainingOptions& options) const;

  VisionSettings settings_;
  bool by_class_;
  uint64_t seed_;
  const CellWork* work_;
  Placement placement_;
  ModelConfig config_;
  OpenImages images_;
  ModelCache cache_;
};

}  // namespace zkapex
