// What a deployment fixes, as named values: a part of reports.
#pragma once

#include <nlohmann/json.hpp>

#include "unlearning/deployment.h"

namespace zkapex {

void describe(const Deployment& deployment, nlohmann::ordered_json& values);

}  // namespace zkapex
