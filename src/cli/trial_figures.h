// What a trial's model knows, beside the one it starts from: the learning program measures both.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/json.h"
#include "base/result.h"

namespace zkapex::cli {

struct TrialFigures {
  Path splits;                    // empty: nothing is measured
  std::vector<std::string> sets;  // of it; none: those that evaluate chooses
  Path folder;                    // with config.json; empty: where the model before lies
};

// {set: {"before": {...}, "after": {...}}}, with what `zkapex evaluate` says of each.
[[nodiscard]] Result<nlohmann::ordered_json> measure_trial(const TrialFigures& what, const Path& before,
                                                           const Path& after, bool quiet);

}  // namespace zkapex::cli
