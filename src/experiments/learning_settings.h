// Settings that experiments with images and with code have in common: how a model is trained, personalized, unlearned.
#pragma once

#include "experiments/guided.h"
#include "learning/adaptformer.h"
#include "learning/baselines.h"
#include "learning/lora.h"
#include "tables/config.h"

namespace zkapex {

struct PersonalizationSettings {
  Method method = Method::kFull;
  TrainingOptions training;
  AdaptFormerOptions adaptformer;  // of Method::kAdaptFormer
  LoraOptions lora;                // of Method::kLora
};

[[nodiscard]] Status parse_personalization(const nlohmann::json& from, const std::string& where,
                                           PersonalizationSettings& out);

// Other methods' hyper-parameters. What they keep is the client's own data, or what the provider retains.
struct BaselineSettings {
  std::string retained_data = "personal";  // or "retain"
  BaselineOptions ga, neggrad;
  double neggrad_alpha = 0.95;
  ScrubOptions scrub;
};

struct LearningSettings {
  TrainingOptions training;
  PersonalizationSettings personalization;
  OperatorSettings unlearning;
  BaselineSettings baselines;
  RehearsalSettings rehearsal;

  // The parts of a configuration with these names.
  void read_from(ConfigReader& reader);
  // For reports.
  void describe_in(nlohmann::ordered_json& setup) const;
};

}  // namespace zkapex
