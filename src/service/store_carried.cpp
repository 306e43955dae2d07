// Clients that carry their own state: the provider keeps digests of what it accepted. The files come along with what is
// handed in, are held against those digests, and go again with the verdict.
#include <algorithm>

#include "service/store.h"
#include "service/store_rows.h"

namespace zkapex {

namespace {

// What the column `here` says: the client has the file, and an upload of it may be under way.
constexpr int64_t kHere = 1, kExpected = 2;

// A verdict that was given up because files were lost is tried anew once all of them have come again: they come once
// for each time that they were lost.
Status revive_complete(Store& store, const std::string& client, UnixTime now) {
  ZKAPEX_TRY(const std::vector<DeliveryInfo> dead,
             all_rows<DeliveryInfo>(store.database(),
                                    fmt::format("SELECT {} FROM {} WHERE d.client = $1 AND d.state = 'received' AND "
                                                "j.state = 'dead'",
                                                delivery_columns(), delivery_source()),
                                    {client}, read_delivery));
  for (const DeliveryInfo& one : dead) {
    ZKAPEX_TRY(const std::vector<BlobName> missing, store.missing_state(one.announced));
    if (!missing.empty()) continue;
    ZKAPEX_CHECK(store.database().run(
        "UPDATE jobs SET state = 'ready', attempts = 0, run_at = $2 WHERE delivery = $1 AND state = 'dead'",
        {sql(one.announced.id), now}));
  }
  return Done{};
}

}  // namespace

Result<std::vector<CarriedFile>> carried_for(Database& database, const Announcement& delivery) {
  return all_rows<CarriedFile>(
      database, "SELECT sha256, bytes, here FROM carried WHERE client = $1 AND past <= $2 ORDER BY sha256",
      {delivery.client, int64_t{delivery.kind == DeliveryKind::kUpdate ? 1 : 0}},
      [](SqlReader& row) -> Result<CarriedFile> {
        CarriedFile out;
        ZKAPEX_TRY(out.file, read_blob_name(row));
        ZKAPEX_TRY(const int64_t here, row.integer());
        out.here = here == kHere;
        return out;
      });
}

Result<std::vector<BlobName>> Store::state_of(const Announcement& delivery, bool here) {
  ZKAPEX_TRY(const std::vector<CarriedFile> files, carried_for(*database_, delivery));
  std::vector<BlobName> out;
  for (const CarriedFile& one : files) {
    if (one.here == here) out.push_back(one.file);
  }
  return out;
}

Result<TakenState> Store::expect_state(const Digest& id, const BlobName& offered, UnixTime now) {
  return transact(*database_, [&]() -> Result<TakenState> {
    const auto refused = [](Refusal refusal) { return TakenState{.refusal = refusal, .client = {}, .file = {}}; };
    ZKAPEX_TRY(const std::optional<DeliveryInfo> before, delivery(id));
    if (!before) return refused(Refusal::kNoDelivery);
    const std::string& client = before->announced.client;
    ZKAPEX_CHECK(hold_client(*database_, client));
    ZKAPEX_TRY(const std::optional<DeliveryInfo> found, delivery(id));  // as it is now
    if (!found || found->verdict) return refused(Refusal::kNoDelivery);
    ZKAPEX_TRY(const std::vector<CarriedFile> files, carried_for(*database_, found->announced));
    const auto wanted =
        std::ranges::find_if(files, [&](const CarriedFile& one) { return one.file.sha256 == offered.sha256; });
    if (wanted == files.end()) return refused(Refusal::kNoDelivery);
    if (wanted->here || wanted->file != offered)
      return TakenState{.here = wanted->here, .client = client, .file = wanted->file};
    ZKAPEX_TRY(const bool going, is_being_removed(*database_, offered.sha256, client, now));
    if (going) return refused(Refusal::kRemoving);
    // Should nothing follow.
    ZKAPEX_CHECK(leave_for_removal(*database_, offered, client, now + kLongestUpload));
    ZKAPEX_CHECK(database_->run("UPDATE carried SET here = $3 WHERE client = $1 AND sha256 = $2",
                                {client, sql(offered.sha256), kExpected}));
    return TakenState{.client = client, .file = wanted->file};
  });
}

Result<Refusal> Store::receive_state(const std::string& client, const BlobName& file, UnixTime now) {
  return transact(*database_, [&]() -> Result<Refusal> {
    ZKAPEX_TRY(const bool came, any_row(*database_,
                                        "UPDATE carried SET here = $3 WHERE client = $1 AND sha256 = $2 "
                                        "AND here = $4 RETURNING 1",
                                        {client, sql(file.sha256), kHere, kExpected}));
    if (came) {
      ZKAPEX_CHECK(revive_complete(*this, client, now));
      return Refusal::kNone;
    }
    ZKAPEX_TRY(const bool here,
               any_row(*database_, "SELECT 1 FROM carried WHERE client = $1 AND sha256 = $2 AND here = $3",
                       {client, sql(file.sha256), kHere}));
    if (here) return Refusal::kNone;
    // It took so long that the file was removed since, or is being removed: it may be there again.
    ZKAPEX_CHECK(leave_for_removal(*database_, file, client, now + kLongestUpload));
    return Refusal::kRemoving;
  });
}

Status Store::lose_state(const std::string& client, const Digest& file) {
  return transact(*database_, [&]() -> Status {
    ZKAPEX_CHECK(database_->run("UPDATE carried SET here = 0 WHERE client = $1 AND sha256 = $2", {client, sql(file)}));
    return Done{};
  });
}

Status leave_with_clients(Database& database, std::span<const Leaving> leaving, UnixTime now) {
  std::vector<std::string> clients;
  std::vector<SqlRow> all, guided, accepted, kept;
  for (const Leaving& one : leaving) {
    const Conclusion& said = *one.conclusion;
    clients.push_back(one.client);
    all.push_back({one.client});
    if (!said.accepted) continue;
    accepted.push_back({one.client});
    if (said.guided) guided.push_back({one.client, sql(said.from)});
    for (const BlobName& file : {said.model, said.record})
      kept.push_back({one.client, sql(file.sha256), sql(file.bytes)});
  }
  ZKAPEX_CHECK(leave_all_for_removal(database, "carried", "here = 1", clients, now));
  ZKAPEX_CHECK(do_each(database, "UPDATE carried SET here = 0 WHERE client = $1", all));
  ZKAPEX_CHECK(do_each(database,
                       "UPDATE carried SET past = 1 WHERE client = $1 AND sha256 = "
                       "(SELECT model_sha256 FROM models WHERE client = $1 AND version = $2)",
                       guided));
  ZKAPEX_CHECK(do_each(database, "DELETE FROM carried WHERE client = $1 AND past = 0", accepted));
  return do_each(database, "INSERT INTO carried (client, sha256, bytes, past, here) VALUES ($1, $2, $3, 0, 0)", kept);
}

}  // namespace zkapex
