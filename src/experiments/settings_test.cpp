#include <gtest/gtest.h>

#include <tuple>

#include "base/result_testing.h"
#include "experiments/code.h"
#include "experiments/vision_settings.h"

namespace zkapex {
namespace {

using nlohmann::json;
using testing::refusal;

// What the configuration of an experiment says under `part`.
json part_of(const std::string& experiment, const char* part) {
  const auto config = ExperimentConfig::load("experiments/" + experiment + ".json", experiment, false);
  EXPECT_TRUE(config.ok()) << config.error().message;
  return config->settings.at(part);
}

// What is refused of settings with another value at one place.
template <class Settings>
std::string refused_with(json settings, const std::string& place, const json& value) {
  settings[json::json_pointer(place)] = value;
  return refusal(Settings::parse(settings, "settings"));
}

using Case = std::tuple<const char*, json, const char*>;

TEST(VisionSettings, RefuseWhatCannotBe) {
  const json good = part_of("vision", "vision");
  EXPECT_EQ(refusal(VisionSettings::parse(good, "settings")), "(accepted)");
  for (const auto& [place, value, part] : std::vector<Case>{
           {"/images/spare_percent", -1, "settings.images.spare_percent must be between 0 and 1000"},
           {"/images/spare_percent", 1001, "settings.images.spare_percent must be between 0 and 1000"},
           {"/images/members", -1, "settings.images.members cannot be negative"},
           {"/model/heads", 5, "settings.model: 5 heads do not divide"},
           {"/training/rate", 0, "settings.training.rate a learning rate of 0"},
           {"/personalization/rate", 0, "settings.personalization.rate a learning rate of 0"},
           {"/personalization/method", "magic", "settings.personalization: there is no method 'magic'"},
           {"/unlearning/ratio", "much", "settings.unlearning.ratio must be a decimal number"},
           {"/unlearning/error", "much", "settings.unlearning.error must be a decimal number"},
           {"/unlearning/damping", -1, "settings.unlearning.damping a damping of -1"},
           {"/unlearning/saliency_samples", 0, "settings.unlearning.saliency_samples must be positive"},
           {"/unlearning/fisher_samples", 0, "settings.unlearning.fisher_samples must be positive"},
           {"/baselines/retained_data", "all", "settings.baselines.retained_data is personal or retain"},
           {"/baselines/ga/rate", 0, "settings.baselines.ga.rate a learning rate of 0"},
           {"/baselines/neggrad+/rate", 0, "settings.baselines.neggrad+.rate a learning rate of 0"},
           {"/baselines/scrub/rate", 0, "settings.baselines.scrub.rate a learning rate of 0"},
           {"/rehearsal/classes/ratio", "much", "settings.rehearsal.classes.ratio must be a decimal number"},
           {"/rehearsal/samples/pull", 0, "settings.rehearsal.samples.pull cannot be 0"},
           {"/rehearsal/samples/pull", Guidance::kMaxPull + 1,
            "settings.rehearsal.samples.pull must be from 1 to 2^40"},
           {"/rehearsal/samples/rate", 0, "settings.rehearsal.samples.rate and weight must be positive"},
           {"/rehearsal/samples/weight", 0, "settings.rehearsal.samples.rate and weight must be positive"}}) {
    const std::string message = refused_with<VisionSettings>(good, place, value);
    EXPECT_NE(message.find(part), std::string::npos) << place << ": " << message;
  }
  for (const char* set : {"train", "validation", "test", "personal", "personal_validation", "personal_test"}) {
    for (const int64_t count : {0, 1'000'001}) {
      const std::string message = refused_with<VisionSettings>(good, fmt::format("/images/{}", set), count);
      EXPECT_EQ(message, fmt::format("settings.images.{} must be between 1 and 1000000", set));
    }
  }
}

TEST(VisionSettings, RefuseWhatMeansNothing) {
  for (const char* part :
       {"", "/images", "/model", "/training", "/personalization", "/unlearning", "/baselines", "/baselines/ga",
        "/baselines/neggrad+", "/baselines/scrub", "/rehearsal", "/rehearsal/samples"}) {
    const std::string message =
        refused_with<VisionSettings>(part_of("vision", "vision"), fmt::format("{}/stranger", part), 1);
    EXPECT_NE(message.find("has 'stranger', which means nothing here"), std::string::npos) << part << ": " << message;
  }
}

TEST(CodeSettings, RefuseWhatCannotBe) {
  const json good = part_of("llm", "code");
  EXPECT_EQ(refusal(CodeSettings::parse(good, "settings")), "(accepted)");
  for (const auto& [place, value, part] : std::vector<Case>{
           {"/data/forget_part", 0, "settings.data.forget_part must be between 0 and 1"},
           {"/data/forget_part", 1, "settings.data.forget_part must be between 0 and 1"},
           {"/data/forget_language", "ada", "settings.data.forget_language must be one of the languages"},
           {"/data/personal_language", "go", "settings.data.personal_language must not be one of the provider's"},
           {"/data/vocabulary", 299, "settings.data.vocabulary must be between 300 and 100000"},
           {"/data/vocabulary", 100'001, "settings.data.vocabulary must be between 300 and 100000"},
           {"/data/window", 7, "settings.data.window must be between 8 and 4096"},
           {"/data/window", 4097, "settings.data.window must be between 8 and 4096"},
           {"/data/stranger", 1, "settings.data has 'stranger', which means nothing here"},
           {"/model/stranger", 1, "settings.model has 'stranger', which means nothing here"},
           {"/stranger", 1, "settings has 'stranger', which means nothing here"}}) {
    const std::string message = refused_with<CodeSettings>(good, place, value);
    EXPECT_NE(message.find(part), std::string::npos) << place << ": " << message;
  }
  for (const char* set : {"train", "validation", "test", "personal", "personal_validation", "personal_test"}) {
    for (const int64_t count : {0, 10'000'001}) {
      const std::string message = refused_with<CodeSettings>(good, fmt::format("/data/{}", set), count);
      EXPECT_EQ(message, fmt::format("settings.data.{} must be between 1 and 10000000", set));
    }
  }
}

TEST(ForgetRequests, RefuseWhatCannotBe) {
  const json good = {{"name", "one"}, {"title", "One class"}, {"forget", "class:1"}};
  const auto with = [&](const char* key, const json& value) {
    json changed = good;
    changed[key] = value;
    return json::array({good, changed});
  };
  EXPECT_EQ(refusal(parse_requests(with("name", "two"), "requests")), "(accepted)");
  for (const auto& [list, message] : std::vector<std::pair<json, const char*>>{
           {good, "requests must be a list of requests"},
           {json::array(), "requests must be a list of requests"},
           {with("name", "a/b"), "requests.name has characters that a file's name cannot have"},
           {with("damping", -1), "requests.damping cannot be negative"},
           {with("stranger", 1), "requests has 'stranger', which means nothing here"},
           {with("title", "Another"), "requests has two requests with the name 'one'"}}) {
    EXPECT_EQ(refusal(parse_requests(list, "requests")), message);
  }
}

}  // namespace
}  // namespace zkapex
