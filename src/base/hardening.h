// For programs with secrets in memory.
#pragma once

#include "base/result.h"

namespace zkapex {

// From here on this process leaves no core dump, and no other process of the same user may read its memory.
[[nodiscard]] Status keep_memory_private();

}  // namespace zkapex
