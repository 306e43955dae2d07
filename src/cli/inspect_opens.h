// inspect --opens: whether a checkpoint is the model that a client is committed to.
#pragma once

#include "cli/work.h"

namespace zkapex::cli {

// Adds what was found to the report; kRejected where the checkpoint opens nothing.
[[nodiscard]] Result<Outcome> inspect_opens(const CommonFlags& flags, const Path& model, const Path& client,
                                            Report& report);

}  // namespace zkapex::cli
