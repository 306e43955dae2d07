// What --version says.
#pragma once

#include "base/json.h"

namespace zkapex::cli {

inline constexpr const char* kVersionLine = "zkapex " ZKAPEX_VERSION;

// With --json: the version, the parts that can be left out of a build, and the implementations for instruction sets
// that are compiled in, with the one that this machine is going to use.
[[nodiscard]] nlohmann::ordered_json version_as_json();

}  // namespace zkapex::cli
