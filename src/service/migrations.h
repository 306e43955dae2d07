// The schema of the provider's database, as numbered steps from an empty one.
#pragma once

#include "service/database.h"

namespace zkapex {

// Runs the steps that are missing, all or none of them. Refuses a database of a newer program.
[[nodiscard]] Status migrate(Database& database);

// What migrate() leads to.
[[nodiscard]] int64_t schema_version();

}  // namespace zkapex
