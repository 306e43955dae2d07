// Another program, run to its end: for measurements that need a process of their own.
#pragma once

#include <string>
#include <vector>

#include "base/files.h"
#include "base/result.h"

namespace zkapex {

// Runs `program` with `arguments` and gives what it wrote to its standard output; its standard error is this process's.
// An error if it cannot be started, or ends with anything but 0.
[[nodiscard]] Result<std::string> run_program(const Path& program, const std::vector<std::string>& arguments);

}  // namespace zkapex
