// What a command is asked to write, looked at before any work is done.
#pragma once

#include <vector>

#include "base/files.h"

namespace zkapex {

// Refuses at once, before any work is done: what exists without `force`, and with it what the command reads or what
// opens a client's commitments. An empty path is no output.
[[nodiscard]] Status check_output(const Path& path, bool force, const std::vector<Path>& inputs = {});

}  // namespace zkapex
