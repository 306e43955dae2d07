// How verdicts are told to people. What clients chose (names, folders) is quoted in text, so that it cannot be taken
// for a verdict.
#pragma once

#include "parties/verdict_values.h"

namespace zkapex::cli {

[[nodiscard]] std::string verdict_line(const std::optional<Rejection>& rejection, const std::string& accepted);

// Named values for people: nothing that the first line says already.
[[nodiscard]] nlohmann::ordered_json for_people(nlohmann::ordered_json verdict);

}  // namespace zkapex::cli
