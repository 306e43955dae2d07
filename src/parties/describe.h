// What a deployment fixes, as named values: a part of reports.
#pragma once

#include "base/json.h"
#include "unlearning/deployment.h"

namespace zkapex {

void describe(const Deployment& deployment, nlohmann::ordered_json& values);

}  // namespace zkapex
