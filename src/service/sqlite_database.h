// SQLite: one file, for one machine. Every commit is on disk.
#pragma once

#include "base/files.h"
#include "service/database.h"

namespace zkapex {

[[nodiscard]] Result<std::unique_ptr<Database>> open_sqlite(const Path& file);

}  // namespace zkapex
