// Files that are kept no longer: their digests, statements and verdicts stay. Whoever lets go of a file leaves its
// name; the file itself is removed outside of all transactions, since a disk or a network may take its time.
#include "service/store.h"
#include "service/store_rows.h"

namespace zkapex {

namespace {

constexpr UnixTime kRemovalLease = 600;  // who claimed a removal has died since

struct Expired {
  Digest id{};
  BlobName file;
  std::string client;
  bool announced = false;  // and nothing more: there may be a file that came too late, or is still coming
};

Result<Expired> read_expired(SqlReader& row) {
  Expired out;
  ZKAPEX_TRY(out.id, row.digest());
  ZKAPEX_TRY(out.file, read_blob_name(row));
  ZKAPEX_TRY(out.client, row.text());
  ZKAPEX_TRY(const std::string state, row.text());
  out.announced = state == name(DeliveryState::kAnnounced);
  return out;
}

Result<std::vector<Expired>> find_expired(Database& database, const Expiry& expiry) {
  constexpr std::string_view kColumns = "SELECT d.id, d.sha256, d.bytes, d.client, d.state FROM deliveries d";
  ZKAPEX_TRY(
      std::vector<Expired> out,
      all_rows<Expired>(
          database,
          fmt::format("{} WHERE d.removed IS NULL AND d.decided <= $1 ORDER BY d.decided, d.id LIMIT $2", kColumns),
          {expiry.decided, sql(uint64_t{expiry.limit})}, read_expired));
  ZKAPEX_TRY(const std::vector<Expired> announced,
             all_rows<Expired>(
                 database,
                 fmt::format("{} WHERE d.state = 'announced' AND d.announced <= $1 ORDER BY d.announced, d.id LIMIT $2",
                             kColumns),
                 {expiry.announced, sql(uint64_t{expiry.limit - out.size()})}, read_expired));
  out.insert(out.end(), announced.begin(), announced.end());
  return out;
}

// Clients choose what they upload: it may well be a file that the provider needs.
Result<bool> is_needed(Database& database, const Digest& file) {
  return any_row(database,
                 "SELECT 1 FROM deliveries WHERE sha256 = $1 AND removed IS NULL "
                 "UNION ALL SELECT 1 FROM models m WHERE (m.model_sha256 = $1 OR m.record_sha256 = $1) "
                 "AND NOT EXISTS (SELECT 1 FROM carried c WHERE c.client = m.client) "
                 "UNION ALL SELECT 1 FROM windows WHERE sha256 = $1 "
                 "UNION ALL SELECT 1 FROM deployment WHERE sha256 = $1",
                 {sql(file)});
}

}  // namespace

Status leave_for_removal(Database& database, const BlobName& file, const std::string& client, UnixTime due) {
  ZKAPEX_CHECK(
      database.run("INSERT INTO removals (sha256, bytes, client, due) VALUES ($1, $2, $3, $4) "
                   "ON CONFLICT (sha256, client) DO UPDATE SET due = $4",
                   {sql(file.sha256), sql(file.bytes), client, due}));
  return Done{};
}

Status leave_all_for_removal(Database& database, std::string_view table, std::string_view which,
                             std::span<const std::string> clients, UnixTime due) {
  const std::string statement = fmt::format(
      "INSERT INTO removals (sha256, bytes, client, due) SELECT sha256, MAX(bytes), client, CAST($2 AS {{integer}}) "
      "FROM {} WHERE client = $1 AND {} GROUP BY sha256, client "
      "ON CONFLICT (sha256, client) DO UPDATE SET due = excluded.due",
      table, which);
  std::vector<SqlRow> values;
  for (const std::string& client : clients) values.push_back({client, due});
  return do_each(database, statement, values);
}

Result<bool> is_being_removed(Database& database, const Digest& file, const std::string& client, UnixTime now) {
  return any_row(database, "SELECT 1 FROM removals WHERE removing > $3 AND (sha256 = $1 OR client = $2)",
                 {sql(file), client, now - kRemovalLease});
}

Result<size_t> Store::expire(const Expiry& expiry, UnixTime now) {
  return transact(*database_, [&]() -> Result<size_t> {
    ZKAPEX_CHECK(database_->run("DELETE FROM withdrawn WHERE announced <= $1", {expiry.announced}));
    ZKAPEX_TRY(const std::vector<Expired> expired, find_expired(*database_, expiry));
    for (const Expired& one : expired) {
      ZKAPEX_CHECK(leave_for_removal(*database_, one.file, one.client, one.announced ? now + kLongestUpload : now));
      if (one.announced) {
        ZKAPEX_CHECK(database_->run("DELETE FROM deliveries WHERE id = $1 AND state = 'announced'", {sql(one.id)}));
      } else {
        ZKAPEX_CHECK(database_->run("UPDATE deliveries SET removed = $2 WHERE id = $1", {sql(one.id), now}));
      }
    }
    return expired.size();
  });
}

Status Store::let_go(const BlobName& file, const std::string& client, UnixTime now) {
  return transact(*database_, [&] { return leave_for_removal(*database_, file, client, now); });
}

Result<Removals> Store::claim_removals(size_t limit, UnixTime now) {
  return transact(*database_, [&]() -> Result<Removals> {
    // Nobody announces or hands in anything until the end: see hold_client() in store_deliveries.cpp.
    ZKAPEX_CHECK(database_->run(in_dialect("SELECT one FROM deployment {for_update}", database_->dialect()), {}));
    // A client that waits for a verdict may have sent, as some other file, what the verdict is going to lead to.
    ZKAPEX_TRY(const std::vector<BlobName> due,
               all_rows<BlobName>(*database_,
                                  "SELECT DISTINCT r.sha256, r.bytes FROM removals r WHERE r.due <= $1 AND "
                                  "(r.removing IS NULL OR r.removing <= $2) AND NOT EXISTS "
                                  "(SELECT 1 FROM removals o WHERE o.sha256 = r.sha256 AND o.due > $1) AND NOT EXISTS "
                                  "(SELECT 1 FROM removals o JOIN deliveries u ON u.client = o.client "
                                  "WHERE o.sha256 = r.sha256 AND u.state = 'received') LIMIT $3",
                                  {now, now - kRemovalLease, sql(uint64_t{limit})}, read_blob_name));
    Removals out{.claimed = {}, .looked_at = due.size()};
    for (const BlobName& file : due) {
      // What a client brought along, and nothing followed: nobody waits for a verdict here.
      ZKAPEX_CHECK(database_->run("UPDATE carried SET here = 0 WHERE sha256 = $1", {sql(file.sha256)}));
      ZKAPEX_TRY(const bool needed, is_needed(*database_, file.sha256));
      if (needed) {
        ZKAPEX_CHECK(database_->run("DELETE FROM removals WHERE sha256 = $1", {sql(file.sha256)}));
      } else {
        ZKAPEX_CHECK(database_->run("UPDATE removals SET removing = $2 WHERE sha256 = $1", {sql(file.sha256), now}));
        out.claimed.push_back(file);
      }
    }
    return out;
  });
}

Result<bool> Store::renew_removal(const BlobName& file, UnixTime claimed, UnixTime now) {
  return transact(*database_, [&] {
    return any_row(*database_, "UPDATE removals SET removing = $3 WHERE sha256 = $1 AND removing = $2 RETURNING 1",
                   {sql(file.sha256), claimed, now});
  });
}

Status Store::end_removal(const BlobName& file, UnixTime claimed, bool removed) {
  constexpr UnixTime kLater = 3600;
  return transact(*database_, [&]() -> Status {
    if (!removed) {  // a store that is far away may yet do it: nobody writes the file until the claim has run out
      ZKAPEX_CHECK(database_->run("UPDATE removals SET due = $3 WHERE sha256 = $1 AND removing = $2",
                                  {sql(file.sha256), claimed, claimed + kLater}));
      return Done{};
    }
    // What was left again since is due again.
    ZKAPEX_CHECK(database_->run("DELETE FROM removals WHERE sha256 = $1 AND removing = $2 AND due <= $2",
                                {sql(file.sha256), claimed}));
    ZKAPEX_CHECK(database_->run("UPDATE removals SET removing = NULL WHERE sha256 = $1 AND removing = $2",
                                {sql(file.sha256), claimed}));
    return Done{};
  });
}

}  // namespace zkapex
