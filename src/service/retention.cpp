#include "service/retention.h"

#include <algorithm>

namespace zkapex {

Result<size_t> remove_expired(Store& store, Blobs& blobs, uint64_t days, UnixTime now) {
  constexpr UnixTime kDaySeconds = 86'400;
  constexpr size_t kAtOnce = 16;  // clients wait meanwhile: each is a name that goes from the disk
  const auto kept = static_cast<UnixTime>(days) * kDaySeconds;
  const Expiry expiry{.decided = now - kept, .announced = now - std::max(kept, kDaySeconds), .limit = kAtOnce};
  return store.expire(
      expiry, [&blobs](const BlobName& name) { return blobs.remove(name); }, now);
}

}  // namespace zkapex
