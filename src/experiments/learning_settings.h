// Settings that experiments with images and with code have in common: how a model is trained, personalized, unlearned.
#pragma once

#include "experiments/config.h"
#include "experiments/steps.h"
#include "learning/adaptformer.h"
#include "learning/baselines.h"
#include "learning/lora.h"

namespace zkapex {

struct PersonalizationSettings {
  Method method = Method::kFull;
  TrainingOptions training;
  AdaptFormerOptions adaptformer;  // of Method::kAdaptFormer
  LoraOptions lora;                // of Method::kLora
};

// Other methods' hyper-parameters. What they keep is the client's own data, or what the provider retains.
struct BaselineSettings {
  std::string retained_data = "personal";  // or "retain"
  BaselineOptions ga, neggrad;
  double neggrad_alpha = 0.95;
  ScrubOptions scrub;
};

// Readers of parts of a configuration.
[[nodiscard]] Status parse_training(const nlohmann::json& from, const std::string& where, TrainingOptions& out);
[[nodiscard]] Status parse_personalization(const nlohmann::json& from, const std::string& where,
                                           PersonalizationSettings& out);
[[nodiscard]] Status parse_unlearning(const nlohmann::json& from, const std::string& where, OperatorSettings& out);
[[nodiscard]] Status parse_baselines(const nlohmann::json& from, const std::string& where, BaselineSettings& out);

// For reports.
[[nodiscard]] std::string describe(const TrainingOptions& options);
[[nodiscard]] std::string describe(const PersonalizationSettings& settings);
[[nodiscard]] std::string describe(const OperatorSettings& settings);

}  // namespace zkapex
