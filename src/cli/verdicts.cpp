#include "cli/verdicts.h"

namespace zkapex::cli {

std::string verdict_line(const std::optional<Rejection>& rejection, const std::string& accepted) {
  if (!rejection) return accepted;
  return fmt::format("rejected ({}): {}", name(rejection->reason), rejection->detail);
}

nlohmann::ordered_json for_people(nlohmann::ordered_json verdict) {
  for (const char* key : {"verdict", "reason", "detail"}) verdict.erase(key);
  return verdict;
}

}  // namespace zkapex::cli
