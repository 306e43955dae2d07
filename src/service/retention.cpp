#include "service/retention.h"

namespace zkapex {

Result<size_t> remove_expired(Store& store, Blobs& blobs, uint64_t days, const Clock& clock) {
  constexpr UnixTime kDaySeconds = 86'400;
  constexpr size_t kAtOnce = 16;
  const UnixTime now = clock();
  const Expiry expiry{
      .decided = now - static_cast<UnixTime>(days) * kDaySeconds, .announced = now - kDaySeconds, .limit = kAtOnce};
  ZKAPEX_TRY(const size_t expired, store.expire(expiry, now));
  ZKAPEX_TRY(const std::vector<BlobName> files, store.claim_removals(kAtOnce, now));
  Status trouble = Done{};
  for (const BlobName& file : files) {
    const UnixTime renewed = clock();
    ZKAPEX_TRY(const bool held, store.renew_removal(file, now, renewed));
    if (!held) continue;
    const Status removed = blobs.remove(file);
    ZKAPEX_CHECK(store.end_removal(file, renewed, removed.ok()));
    if (!removed.ok()) trouble = removed;
  }
  ZKAPEX_CHECK(trouble);
  return expired + files.size();
}

}  // namespace zkapex
