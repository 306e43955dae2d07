// Uploads are kept for as long as the deployment's statement says, counted from their verdict.
#pragma once

#include "service/blobs.h"
#include "service/store.h"

namespace zkapex {

struct RetentionRound {
  size_t done = 0;                    // call it again until it is none
  std::vector<std::string> troubles;  // files that could not be removed; they are tried again in an hour
};
// Lets go of some files that were decided `days` ago or earlier, and of announcements that nothing followed for a day;
// and removes some that were let go, by anybody.
[[nodiscard]] Result<RetentionRound> remove_expired(Store& store, Blobs& blobs, uint64_t days, const Clock& clock);

}  // namespace zkapex
