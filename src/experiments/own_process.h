// Benchmarks in a process of their own: the device's program, without libtorch, so that a peak of memory is that of the
// work alone.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace zkapex {

// What `zkapex bench ARGUMENTS --json` prints, run by the program beside this one.
[[nodiscard]] Result<nlohmann::ordered_json> bench_in_own_process(std::vector<std::string> arguments);

}  // namespace zkapex
