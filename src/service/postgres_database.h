// PostgreSQL, for more than one machine.
#pragma once

#include "service/database.h"

namespace zkapex {

// `address` as libpq has it: postgresql://user@host/name. A connection that is lost is made anew for the next
// transaction or read.
[[nodiscard]] Result<std::unique_ptr<Database>> open_postgres(const std::string& address);

}  // namespace zkapex
