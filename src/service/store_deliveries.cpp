// Registrations, updates and submissions, from the announcement to the job.
#include "service/store.h"
#include "service/store_rows.h"

namespace zkapex {

namespace {

constexpr uint64_t kMostDeliveries = 32;  // of one client for one purpose; who is rejected so often needs an operator

// Whether the client's registration was logged before the window.
constexpr std::string_view kIsDue =
    "SELECT 1 FROM clients c JOIN deliveries r ON r.id = c.registration JOIN entries e ON e.id = r.entry, "
    "windows w JOIN entries x ON x.id = w.entry "
    "WHERE c.name = $1 AND w.id = $2 AND e.place < x.place";
// A window that is published, not over, waits for this client, and has not got its answer.
constexpr std::string_view kIsAwaited =
    "SELECT 1 FROM clients c JOIN deliveries r ON r.id = c.registration, windows w "
    "WHERE c.name = $1 AND w.deadline > $2 AND r.entry < w.entry AND NOT EXISTS "
    "(SELECT 1 FROM deliveries d WHERE d.client = $1 AND d.window_id = w.id AND d.state = 'accepted')";

// What keeps this client from handing in this, now.
class Gate {
 public:
  Gate(Store& store, const Announcement& wanted, UnixTime now) : store_(store), wanted_(wanted), now_(now) {}

  Result<Refusal> check() {
    Database& database = store_.database();
    ZKAPEX_TRY(const std::optional<ClientInfo> client, store_.client(wanted_.client));
    if (!client) return Refusal::kNoClient;
    const bool registers = wanted_.kind == DeliveryKind::kRegistration;
    if (registers && client->registration) return Refusal::kRegistered;
    if (!registers && !client->registration) return Refusal::kNotRegistered;
    if (wanted_.kind == DeliveryKind::kSubmission) {
      ZKAPEX_TRY(const Refusal refusal, check_window());
      if (refusal != Refusal::kNone) return refusal;
    }
    if (wanted_.kind == DeliveryKind::kUpdate) {
      ZKAPEX_TRY(const bool awaited, any_row(database, kIsAwaited, {wanted_.client, now_}));
      if (awaited) return Refusal::kWindowOpen;
    }
    ZKAPEX_TRY(
        const bool undecided,
        any_row(database, "SELECT 1 FROM deliveries WHERE client = $1 AND state = 'received'", {wanted_.client}));
    return undecided ? Refusal::kUndecided : Refusal::kNone;
  }

 private:
  Result<Refusal> check_window() {
    Database& database = store_.database();
    ZKAPEX_TRY(const std::optional<WindowInfo> window, store_.window(wanted_.window));
    if (!window) return Refusal::kNoWindow;
    if (now_ < window->opens) return Refusal::kNotOpen;
    if (now_ >= window->deadline) return Refusal::kLate;
    ZKAPEX_TRY(const bool due, any_row(database, kIsDue, {wanted_.client, wanted_.window}));
    if (!due) return Refusal::kNotDue;
    ZKAPEX_TRY(const bool done,
               any_row(database, "SELECT 1 FROM deliveries WHERE client = $1 AND window_id = $2 AND state = 'accepted'",
                       {wanted_.client, wanted_.window}));
    return done ? Refusal::kDone : Refusal::kNone;
  }

  Store& store_;
  const Announcement& wanted_;
  UnixTime now_;
};

Result<Refusal> too_many(Database& database, const Announcement& wanted, UnixTime now) {
  const bool updates = wanted.kind == DeliveryKind::kUpdate;
  ZKAPEX_TRY(const uint64_t before,
             count_of(database,
                      "SELECT (SELECT COUNT(*) FROM deliveries WHERE client = $1 AND kind = $2 AND window_id = $3 "
                      "AND announced > $4) + (SELECT COUNT(*) FROM withdrawn WHERE client = $1 AND kind = $2 "
                      "AND window_id = $3 AND announced > $4 AND id <> $5)",  // by a new key, it counts once
                      {wanted.client, std::string(name(wanted.kind)), wanted.window, updates ? now - kADay : 0,
                       sql(wanted.id)}));
  return before >= (updates ? kMostInADay : kMostDeliveries) ? Refusal::kTooMany : Refusal::kNone;
}

}  // namespace

Status hold_client(Database& database, const std::string& client) {
  ZKAPEX_CHECK(database.run(in_dialect("SELECT one FROM deployment {for_share}", database.dialect()), {}));
  ZKAPEX_CHECK(
      database.run(in_dialect("SELECT 1 FROM clients WHERE name = $1 {for_update}", database.dialect()), {client}));
  return Done{};
}

Result<TakenDelivery> Store::announce(const Announcement& announcement, UnixTime now) {
  return transact(*database_, [&]() -> Result<TakenDelivery> {
    ZKAPEX_CHECK(hold_client(*database_, announcement.client));
    ZKAPEX_TRY(const std::optional<DeliveryInfo> present, delivery(announcement.id));
    if (present) return TakenDelivery{.known = true, .delivery = *present};
    ZKAPEX_TRY(const std::optional<KeyRecord> signer, key(announcement.signer));  // it may have been replaced just now
    if (signer && signer->retired) return TakenDelivery{.refusal = Refusal::kKeyRetired, .delivery = {}};
    ZKAPEX_TRY(Refusal refusal, Gate(*this, announcement, now).check());
    if (refusal == Refusal::kNone) {
      ZKAPEX_TRY(refusal, too_many(*database_, announcement, now));
    }
    ZKAPEX_TRY(const bool going, is_being_removed(*database_, announcement.file.sha256, announcement.client, now));
    if (refusal == Refusal::kNone && going) refusal = Refusal::kRemoving;
    if (refusal != Refusal::kNone) return TakenDelivery{.refusal = refusal, .delivery = {}};
    ZKAPEX_CHECK(database_->run("DELETE FROM withdrawn WHERE id = $1", {sql(announcement.id)}));
    ZKAPEX_CHECK(database_->run(
        "INSERT INTO deliveries (id, kind, client, window_id, sha256, bytes, envelope, state, announced) "
        "VALUES ($1, $2, $3, $4, $5, $6, $7, 'announced', $8)",
        {sql(announcement.id), std::string(name(announcement.kind)), announcement.client, announcement.window,
         sql(announcement.file.sha256), sql(announcement.file.bytes), announcement.entry, now}));
    ZKAPEX_TRY(const std::optional<DeliveryInfo> made, delivery(announcement.id));
    return TakenDelivery{.delivery = made.value()};
  });
}

Result<TakenDelivery> Store::receive(const Digest& id, const Bytes& receipt, UnixTime now) {
  return transact(*database_, [&]() -> Result<TakenDelivery> {
    ZKAPEX_TRY(const std::optional<DeliveryInfo> before, delivery(id));
    if (!before) return TakenDelivery{.refusal = Refusal::kNoDelivery, .delivery = {}};
    ZKAPEX_CHECK(hold_client(*database_, before->announced.client));
    ZKAPEX_TRY(const std::optional<DeliveryInfo> present, delivery(id));  // as it is now that nobody else changes it
    if (!present) return TakenDelivery{.refusal = Refusal::kNoDelivery, .delivery = {}};
    if (present->state != DeliveryState::kAnnounced) return TakenDelivery{.known = true, .delivery = *present};
    const Announcement& announced = present->announced;
    ZKAPEX_TRY(const Refusal refusal, Gate(*this, announced, now).check());
    if (refusal != Refusal::kNone) return TakenDelivery{.refusal = refusal, .delivery = {}};
    ZKAPEX_TRY(const bool going, is_being_removed(*database_, announced.file.sha256, announced.client, now));
    if (going) return TakenDelivery{.refusal = Refusal::kRemoving, .delivery = {}};
    ZKAPEX_TRY(const std::vector<BlobName> missing, missing_state(announced));
    if (!missing.empty()) return TakenDelivery{.refusal = Refusal::kNoState, .delivery = {}};
    ZKAPEX_TRY(const int64_t queued, queue_entry(*database_, announced.entry));
    ZKAPEX_CHECK(database_->run(
        "UPDATE deliveries SET state = 'received', received = $2, receipt = $3, entry = $4, envelope = NULL "
        "WHERE id = $1",
        {sql(id), now, receipt, queued}));
    // It waits for its place in the log, which the verdict names.
    ZKAPEX_CHECK(
        database_->run("INSERT INTO jobs (delivery, kind, window_id, entry, state, run_at, attempts, alone, token) "
                       "VALUES ($1, $2, $3, $4, 'waiting', $5, 0, 0, 0)",
                       {sql(id), std::string(name(announced.kind)), announced.window, queued, now}));
    ZKAPEX_TRY(const std::optional<DeliveryInfo> received, delivery(id));
    return TakenDelivery{.delivery = received.value()};
  });
}

Result<std::optional<DeliveryInfo>> Store::delivery(const Digest& id) {
  return one_row<DeliveryInfo>(*database_,
                               fmt::format("SELECT {} FROM {} WHERE d.id = $1", delivery_columns(), delivery_source()),
                               {sql(id)}, read_delivery);
}

Result<std::vector<DeliveryInfo>> Store::deliveries_of(const std::string& client, size_t limit) {
  return all_rows<DeliveryInfo>(
      *database_,
      fmt::format("SELECT {} FROM {} WHERE d.client = $1 ORDER BY d.announced DESC, d.id LIMIT $2", delivery_columns(),
                  delivery_source()),
      {client, sql(uint64_t{limit})}, read_delivery);
}

}  // namespace zkapex
