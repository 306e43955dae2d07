// Cheats of the demo that are not clients' proofs.
#pragma once

#include <optional>

#include "argument/verdict.h"
#include "demo/run.h"

namespace zkapex::demo {

// A newcomer registers a model of copies, near to itself but not to θ0. Files go into `scratch`.
[[nodiscard]] Result<std::optional<Rejection>> register_redundant(DemoRun& run, const Path& scratch);

}  // namespace zkapex::demo
