// What an experiment with images is made of: how many images, which model, how it is trained, personalized, unlearned.
#pragma once

#include "experiments/images.h"
#include "experiments/learning_settings.h"

namespace zkapex {

struct VisionSettings : LearningSettings {
  ImageDeal images;     // but for data, seed and what is forgotten
  int64_t members = 0;  // of D_f so many are measured; 0: all
  VitShape model;

  [[nodiscard]] static Result<VisionSettings> parse(const nlohmann::json& settings, const std::string& where);
  // For reports.
  [[nodiscard]] nlohmann::ordered_json describe() const;
};

// A request: what is to be forgotten, under a short name.
struct ForgetRequest {
  std::string name;    // part of variants' names
  std::string title;   // for people
  std::string forget;  // see SplitOptions
  // Where it differs from the settings' (the paper tunes compensation by the kind of request).
  std::optional<double> damping;
  bool overlap = false;  // clients have drawings of the forgotten classes

  [[nodiscard]] bool by_class() const { return forget.starts_with("class"); }
};
[[nodiscard]] Result<std::vector<ForgetRequest>> parse_requests(const nlohmann::json& list, const std::string& where);

}  // namespace zkapex
