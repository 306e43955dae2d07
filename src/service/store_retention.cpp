// Files that are kept no longer: their digests, statements and verdicts stay.
#include "service/store.h"
#include "service/store_rows.h"

namespace zkapex {

namespace {

struct Expired {
  Digest id{};
  BlobName file;
  bool announced = false;  // and nothing more: there may be a file that came too late
};

Result<Expired> read_expired(SqlReader& row) {
  Expired out;
  ZKAPEX_TRY(out.id, row.digest());
  ZKAPEX_TRY(out.file, read_blob_name(row));
  ZKAPEX_TRY(const std::string state, row.text());
  out.announced = state == name(DeliveryState::kAnnounced);
  return out;
}

// A client that waits for a verdict may have sent, as some other file, what the verdict is going to lead to.
constexpr std::string_view kWaitsForNothing =
    "NOT EXISTS (SELECT 1 FROM deliveries u WHERE u.client = d.client AND u.state = 'received')";

Result<std::vector<Expired>> find_expired(Database& database, const Expiry& expiry) {
  constexpr std::string_view kColumns = "SELECT d.id, d.sha256, d.bytes, d.state FROM deliveries d";
  ZKAPEX_TRY(std::vector<Expired> out,
             all_rows<Expired>(database,
                               fmt::format("{} WHERE d.removed IS NULL AND d.decided <= $1 AND {} "
                                           "ORDER BY d.decided, d.id LIMIT $2",
                                           kColumns, kWaitsForNothing),
                               {expiry.decided, sql(uint64_t{expiry.limit})}, read_expired));
  ZKAPEX_TRY(const std::vector<Expired> announced,
             all_rows<Expired>(database,
                               fmt::format("{} WHERE d.state = 'announced' AND d.announced <= $1 AND {} "
                                           "ORDER BY d.announced, d.id LIMIT $2",
                                           kColumns, kWaitsForNothing),
                               {expiry.announced, sql(uint64_t{expiry.limit - out.size()})}, read_expired));
  out.insert(out.end(), announced.begin(), announced.end());
  return out;
}

// Clients choose what they upload: it may well be a file that the provider needs.
Result<bool> is_named_elsewhere(Database& database, const Expired& one) {
  return any_row(database,
                 "SELECT 1 FROM deliveries WHERE sha256 = $1 AND id <> $2 AND removed IS NULL "
                 "UNION ALL SELECT 1 FROM models WHERE model_sha256 = $1 "
                 "UNION ALL SELECT 1 FROM models WHERE record_sha256 = $1 "
                 "UNION ALL SELECT 1 FROM windows WHERE sha256 = $1 "
                 "UNION ALL SELECT 1 FROM deployment WHERE sha256 = $1",
                 {sql(one.file.sha256), sql(one.id)});
}

}  // namespace

Result<size_t> Store::expire(const Expiry& expiry, const std::function<Status(const BlobName&)>& remove, UnixTime now) {
  return transact(*database_, [&]() -> Result<size_t> {
    // Nobody announces or hands in anything until the end: see hold() in store_deliveries.cpp.
    ZKAPEX_CHECK(database_->run(in_dialect("SELECT one FROM deployment {for_update}", database_->dialect()), {}));
    ZKAPEX_TRY(const std::vector<Expired> expired, find_expired(*database_, expiry));
    for (const Expired& one : expired) {
      ZKAPEX_TRY(const bool needed, is_named_elsewhere(*database_, one));
      if (!needed) {
        ZKAPEX_CHECK(remove(one.file));
      }
      if (one.announced) {
        ZKAPEX_CHECK(database_->run("DELETE FROM deliveries WHERE id = $1 AND state = 'announced'", {sql(one.id)}));
      } else {
        ZKAPEX_CHECK(database_->run("UPDATE deliveries SET removed = $2 WHERE id = $1", {sql(one.id), now}));
      }
    }
    return expired.size();
  });
}

}  // namespace zkapex
