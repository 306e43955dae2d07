// The provider's records in a database: what api, work and log share. Every change is one transaction; every call may
// be made twice with the same effect as once. A Store is one connection, for one thread at a time; threads and
// processes open their own on the same address.
#pragma once

#include <memory>
#include <span>

#include "service/database.h"
#include "service/store_types.h"

namespace zkapex {

// The answer to a client's request: taken, known from before, or refused.
struct Taken {
  Refusal refusal = Refusal::kNone;
  bool known = false;
};
struct TakenKey {
  Refusal refusal = Refusal::kNone;
  bool known = false;
  Bytes entry;  // the statement that is logged, unless refused
};
struct TakenDelivery {
  Refusal refusal = Refusal::kNone;
  bool known = false;     // announced (or received) before; nothing changed
  DeliveryInfo delivery;  // as it stands now, unless refused
};
struct TakenState {
  Refusal refusal = Refusal::kNone;
  bool here = false;  // it came before
  std::string client;
  BlobName file;
};

// What a worker found, to be written at once.
struct Conclusion {
  int64_t job = 0;
  uint64_t token = 0;
  Digest delivery{};
  bool accepted = false;
  std::string reason, detail;  // where rejected
  Bytes entry;                 // the signed verdict statement
  // Where accepted: the model moves from version `from` (0: registration) to the next.
  uint64_t from = 0;
  Digest commitment{};
  BlobName model, record;
  // Clients carry their state: the provider keeps no files of it. `guided`: updates will ask for the model before, too.
  bool carried = false, guided = false;
};

// What is kept no longer.
struct Expiry {
  UnixTime decided = 0;    // files with a verdict of that time, or earlier
  UnixTime announced = 0;  // announcements of that time, or earlier, that nothing followed
  size_t limit = 0;        // at once
};

struct JobRules {
  UnixTime lease = 60, heartbeat = 15;
  UnixTime first_delay = 5;  // after the first failure; four times as long after each further one
  uint32_t attempts = 5;     // then the job is dead
};

class Store {
 public:
  // "sqlite:FILE" or a path; "postgresql://…". Runs the migrations that are missing; refuses a newer schema.
  [[nodiscard]] static Result<Store> open(const std::string& address);
  [[nodiscard]] static Result<Store> over(std::unique_ptr<Database> database);

  // --- Deployment: one store is of one. Another one than before is an error.
  [[nodiscard]] Status set_deployment(const BlobName& file, const Bytes& entry);
  [[nodiscard]] Result<std::optional<DeploymentInfo>> deployment();

  // --- Clients. `code` is SHA-256 of the code: the store does not know codes.
  [[nodiscard]] Status add_code(const Digest& code, const std::string& person, UnixTime expires, UnixTime now);
  // The code is spent with it. The same client with the same key again, whatever the code: known.
  [[nodiscard]] Result<TakenKey> enrol(const Digest& code, const std::string& client, const ClientKey& key,
                                       const Bytes& entry, UnixTime now);
  // `old_key` is the identifier of the client's current key, which is retired, `rotation` how many it has had. What it
  // announced and has not uploaded has to be announced again, by the new key. The same rotation again: known.
  [[nodiscard]] Result<TakenKey> rotate_key(const std::string& client, const std::string& old_key, uint64_t rotation,
                                            const ClientKey& key, const Bytes& entry, UnixTime now);
  [[nodiscard]] Result<std::optional<KeyRecord>> key(const std::string& id);
  [[nodiscard]] Result<std::optional<ClientInfo>> client(const std::string& name);
  // In the order of the names.
  [[nodiscard]] Result<std::vector<std::optional<ClientInfo>>> clients_named(std::span<const std::string> names);
  // By name, after the given one: pages.
  [[nodiscard]] Result<std::vector<ClientInfo>> clients(const std::string& after, size_t limit);
  [[nodiscard]] Result<uint64_t> client_count();
  // Deletes who the pseudonym is.
  [[nodiscard]] Status forget_person(const std::string& client);

  // --- Windows, in the order of publication.
  [[nodiscard]] Result<Taken> publish_window(const WindowInfo& window);
  [[nodiscard]] Result<std::optional<WindowInfo>> window(const std::string& id);
  [[nodiscard]] Result<std::vector<WindowInfo>> windows();

  // --- Deliveries: registrations, updates, submissions.
  [[nodiscard]] Result<TakenDelivery> announce(const Announcement& announcement, UnixTime now);
  // The file is in the blob store. Logs the statement and makes the job. `receipt` is signed over `now`; a second one
  // is not kept: the first is in the answer.
  [[nodiscard]] Result<TakenDelivery> receive(const Digest& id, const Bytes& receipt, UnixTime now);
  // What the client carries of its own state, and the delivery is verified against: files that are here, and those that
  // have not come.
  [[nodiscard]] Result<std::vector<BlobName>> state_of(const Announcement& delivery, bool here);
  [[nodiscard]] Result<std::vector<BlobName>> missing_state(const Announcement& delivery) {
    return state_of(delivery, false);
  }
  // One that is going to be uploaded, for something that has no verdict; nothing changes where the answer names a file
  // of another length. Then it is on disk, which is refused if it was removed meanwhile; or it is not there any more.
  [[nodiscard]] Result<TakenState> expect_state(const Digest& id, const BlobName& offered, UnixTime now);
  [[nodiscard]] Result<Refusal> receive_state(const std::string& client, const BlobName& file, UnixTime now);
  [[nodiscard]] Status lose_state(const std::string& client, const Digest& file);
  [[nodiscard]] Result<std::optional<DeliveryInfo>> delivery(const Digest& id);
  // Newest first.
  [[nodiscard]] Result<std::vector<DeliveryInfo>> deliveries_of(const std::string& client, size_t limit);

  // --- Jobs.
  // Returns expired leases, then leases up to `limit` jobs that are due, whose statement is in the log, and which are
  // all registrations, all updates, or all submissions of one window. One alone where an earlier attempt broke off.
  [[nodiscard]] Result<std::vector<Job>> claim(const std::string& worker, size_t limit, UnixTime now);
  // The jobs of these that are still this worker's; their leases are renewed.
  [[nodiscard]] Result<std::vector<int64_t>> heartbeat(std::span<const Job> jobs, UnixTime now);
  // Verdict, model, entry of the log and end of the job, for each conclusion whose token still holds and whose model
  // is still at `from`. Says for each whether it was written; those of moved models are due again at once.
  [[nodiscard]] Result<std::vector<bool>> conclude(std::span<const Conclusion> conclusions, UnixTime now);
  // The provider's trouble: the job comes again after a while, alone, or is dead.
  [[nodiscard]] Status fail(const Job& job, const std::string& why, UnixTime now);
  [[nodiscard]] Result<std::vector<DeadJob>> dead_jobs(size_t limit);
  // By an operator: a dead job is due again, with all its attempts. False where it is not dead.
  [[nodiscard]] Result<bool> revive(int64_t job, UnixTime now);

  // --- Models.
  [[nodiscard]] Result<std::vector<ModelState>> models(const std::string& client);  // from version 1 on

  // --- Retention. Lets go of the files of what has expired; what was only announced is forgotten. How many.
  [[nodiscard]] Result<size_t> expire(const Expiry& expiry, UnixTime now);
  // A file that came for nothing.
  [[nodiscard]] Status let_go(const BlobName& file, const std::string& client, UnixTime now);
  // Files that were let go and that nobody needs, for the caller to remove, who says of each how it ended. Until then
  // they cannot be announced again. What is cut short is claimed again after a while, so a claim is renewed just before
  // the removal: false where it is somebody else's by now. A claim is known by its time.
  [[nodiscard]] Result<Removals> claim_removals(size_t limit, UnixTime now);
  [[nodiscard]] Result<bool> renew_removal(const BlobName& file, UnixTime claimed, UnixTime now);
  [[nodiscard]] Status end_removal(const BlobName& file, UnixTime claimed, bool removed);

  // --- Numbers.
  [[nodiscard]] Result<QueueCounts> queue();
  [[nodiscard]] Result<WindowTally> tally(const std::string& window);
  [[nodiscard]] Result<std::vector<ProgressPoint>> progress(const std::string& window, UnixTime interval);
  // The clients that are due, by name, after the given one: pages.
  [[nodiscard]] Result<std::vector<Compliance>> compliance(const std::string& window, const std::string& after,
                                                           size_t limit);
  // Nothing but whether the database answers.
  [[nodiscard]] Status ping();

  [[nodiscard]] const JobRules& rules() const { return rules_; }
  void set_rules(const JobRules& rules) { rules_ = rules; }
  // For what else is kept there: the log's tables (service/log_store.h).
  [[nodiscard]] Database& database() { return *database_; }

 private:
  explicit Store(std::unique_ptr<Database> database) : database_(std::move(database)) {}

  std::unique_ptr<Database> database_;
  JobRules rules_;
};

}  // namespace zkapex
