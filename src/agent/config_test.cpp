#include "agent/config.h"

#include <gtest/gtest.h>

#include "base/json.h"
#include "base/result_testing.h"

namespace zkapex {
namespace {

AgentConfig some_config() {
  return {.provider = "https://provider.example",
          .authorities = "/etc/own.pem",
          .client = std::string(32, 'a'),
          .poll_seconds = 600,
          .at_once = true,
          .max_guide = {.digits = 25, .places = 2},
          .min_masked = 10,
          .max_masked = 1000};
}

TEST(AgentConfig, IsReadAsItWasWritten) {
  AgentConfig config = some_config();
  EXPECT_EQ(*AgentConfig::decode(config.encode()), config);
  config.max_masked.reset();
  EXPECT_EQ(*AgentConfig::decode(config.encode()), config);
}

TEST(AgentConfig, EveryFieldIsChecked) {
  const nlohmann::json good = nlohmann::json::parse(some_config().encode());
  const std::vector<std::tuple<std::string, nlohmann::json, std::string>> bad = {
      {"provider", "ftp://provider.example", "https://"},
      {"client", "alice", "32 lower-case"},
      {"poll_seconds", 0, "poll_seconds is 0"},
      {"poll_seconds", AgentConfig::kLongestPoll + 1, "poll_seconds is"},
      {"at_once", 1, "at_once"},
      {"max_guide", "-1", "-1"},
      {"min_masked", -1, "min_masked"},
      {"max_masked", "many", "max_masked"},
      {"authorities", 7, "authorities"},
      {"unknown", 7, "unknown"},
  };
  for (const auto& [field, value, part] : bad) {
    nlohmann::json changed = good;
    changed[field] = value;
    EXPECT_NE(testing::refusal(AgentConfig::decode(changed.dump())).find(part), std::string::npos)
        << field << ": " << testing::refusal(AgentConfig::decode(changed.dump()));
  }
  for (const auto& [field, value] : good.items()) {
    if (field == "max_masked") continue;
    nlohmann::json without = good;
    without.erase(field);
    EXPECT_NE(testing::refusal(AgentConfig::decode(without.dump())).find(field), std::string::npos) << field;
  }
  EXPECT_FALSE(AgentConfig::decode("{").ok());
}

}  // namespace
}  // namespace zkapex
