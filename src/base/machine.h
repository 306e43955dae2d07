// What a measurement ran on.
#pragma once

#include <string>

#include "base/json.h"

namespace zkapex {

// {"cpu": "…", "processors": 16, "memory_bytes": …}; what the system does not tell is left out.
[[nodiscard]] nlohmann::ordered_json machine_description();

// The first "model name" of a text like /proc/cpuinfo, or empty.
[[nodiscard]] std::string cpu_model(const std::string& cpuinfo);

}  // namespace zkapex
