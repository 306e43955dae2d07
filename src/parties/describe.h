// What a deployment fixes, and a guide, as named values: a part of reports.
#pragma once

#include "base/json.h"
#include "unlearning/deployment.h"
#include "unlearning/mask.h"

namespace zkapex {

void describe(const Deployment& deployment, nlohmann::ordered_json& values);
[[nodiscard]] std::vector<std::string> covered_names(const Deployment& deployment);
// Nothing where there is none.
void describe(const std::optional<Guidance>& guidance, nlohmann::ordered_json& values);

}  // namespace zkapex
