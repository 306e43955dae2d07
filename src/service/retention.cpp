#include "service/retention.h"

namespace zkapex {

Result<RetentionRound> remove_expired(Store& store, Blobs& blobs, uint64_t days, const Clock& clock) {
  constexpr UnixTime kDaySeconds = 86'400;
  constexpr size_t kAtOnce = 16;
  const UnixTime now = clock();
  const Expiry expiry{
      .decided = now - static_cast<UnixTime>(days) * kDaySeconds, .announced = now - kDaySeconds, .limit = kAtOnce};
  RetentionRound out;
  ZKAPEX_TRY(out.done, store.expire(expiry, now));
  ZKAPEX_TRY(const Removals removals, store.claim_removals(kAtOnce, now));
  out.done += removals.looked_at;
  for (const BlobName& file : removals.claimed) {
    const UnixTime renewed = clock();
    ZKAPEX_TRY(const bool held, store.renew_removal(file, now, renewed));
    if (!held) continue;
    const Status removed = blobs.remove(file);
    ZKAPEX_CHECK(store.end_removal(file, renewed, removed.ok()));
    if (!removed.ok()) out.troubles.push_back(removed.error().message);
  }
  return out;
}

}  // namespace zkapex
