// Uploads are kept for as long as the deployment's statement says, counted from their verdict.
#pragma once

#include "service/blobs.h"
#include "service/store.h"

namespace zkapex {

// Some of the files that were decided `days` ago or earlier, and of announcements as old (a day at least) that nothing
// followed: how many; call it again until it is none.
[[nodiscard]] Result<size_t> remove_expired(Store& store, Blobs& blobs, uint64_t days, UnixTime now);

}  // namespace zkapex
