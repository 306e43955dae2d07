// What the store keeps, as its callers see it. Times are seconds since 1970, and passed in by whoever has a clock.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "base/hash.h"
#include "log/time.h"

namespace zkapex {

using Digest = Sha256::Digest;

// A file in the blob store: SHA-256 of all of it, and its length.
struct BlobName {
  Digest sha256{};
  uint64_t bytes = 0;
  bool operator==(const BlobName&) const = default;
};

// A client's public key, by the name that signatures call it.
struct ClientKey {
  std::string id;         // as DSSE's keyid
  std::string algorithm;  // as the client's statement calls it
  Bytes key;              // encoded as there
  bool operator==(const ClientKey&) const = default;
};
struct KeyRecord {
  std::string client;
  ClientKey key;
  UnixTime added = 0;
  std::optional<UnixTime> retired;  // by a rotation: signs nothing new
};

// Where a client's model stands.
struct ModelState {
  uint64_t version = 0;    // 1 after the registration, and one more after each accepted window or update
  Digest commitment{};     // ModelCommitment::digest
  BlobName model, record;  // the commitment's file, and that of what windows are verified against (Registered)
  Digest delivery{};       // that led here
  UnixTime since = 0;
};

struct ClientInfo {
  std::string name;  // a pseudonym: the only name that leaves the provider
  UnixTime enrolled = 0;
  std::optional<std::string> person;   // who that is; may be forgotten
  std::optional<Digest> registration;  // the delivery that was accepted
  std::optional<ModelState> model;     // none before that
};

struct DeploymentInfo {
  BlobName file;
  Bytes entry;                    // its statement, as logged
  std::optional<uint64_t> index;  // in the log; none while it waits for the sequencer
};

struct WindowInfo {
  std::string id;
  BlobName psi;
  Digest mask{};  // Mask::digest
  UnixTime opens = 0, deadline = 0, published = 0;
  Bytes entry;                    // its statement, as logged
  std::optional<uint64_t> index;  // in the log; clients believe it only with one
};

enum class DeliveryKind { kRegistration, kUpdate, kSubmission };
// Announced: the signed statement is here, the file is not. Received: both are, and on disk. Then a verdict.
enum class DeliveryState { kAnnounced, kReceived, kAccepted, kRejected };
[[nodiscard]] std::string_view name(DeliveryKind kind);
[[nodiscard]] std::string_view name(DeliveryState state);

// What a client says that it will upload. The caller has checked the signature and the statement.
struct Announcement {
  DeliveryKind kind = DeliveryKind::kSubmission;
  Digest id{};         // SHA-256 of the statement's payload
  std::string client;  // who signed it
  std::string window;  // of a submission; empty otherwise
  BlobName file;
  Bytes entry;              // the envelope, to be logged once the file is here
  std::string signer = {};  // by which key; only of one that is being announced
};

struct VerdictInfo {
  bool accepted = false;
  std::string reason, detail;  // typed reason and a sentence; empty where accepted
  UnixTime at = 0;
  Bytes entry;                    // its statement, as logged
  std::optional<uint64_t> index;  // in the log: what the receipt is about
};

struct DeliveryInfo {
  Announcement announced;
  DeliveryState state = DeliveryState::kAnnounced;
  UnixTime announced_at = 0;
  std::optional<UnixTime> received_at;
  std::optional<Bytes> receipt;   // the provider's signed one, for the upload
  std::optional<uint64_t> index;  // of the statement in the log
  std::optional<VerdictInfo> verdict;
  bool dead = false;  // verification failed for a fault of the provider's, and waits for an operator
};

// Why something is not taken. Each is the client's matter, or a race; the provider's troubles are errors.
enum class Refusal {
  kNone,
  kNoCode,    // no such enrolment code
  kCodeUsed,  // for another key
  kCodeExpired,
  kNameTaken,   // another client has this pseudonym
  kKeyTaken,    // this key is, or was, a client's already
  kKeyRetired,  // a rotation from, or a statement by, a key that is not the client's current one
  kKeyNumber,   // a rotation that does not say how many keys the client has had
  kNoClient,
  kRegistered,     // a second registration: only updates change a model
  kNotRegistered,  // a window or an update without an accepted registration
  kNoWindow,
  kWindowTaken,  // a window with this name was published before
  kNotOpen,      // the window opens later
  kLate,         // after the deadline
  kNotDue,       // registered, or updated, after the window was published
  kDone,         // this client's window was accepted before
  kUndecided,    // an earlier delivery waits for its verdict
  kWindowOpen,   // an update while a window waits for this client
  kTooMany,      // deliveries of this client for one purpose
  kNoDelivery,   // nothing was announced under that identifier
  kNoState,      // what the client carries of its state has not come
  kRemoving,     // a file of that name, or of that client, is being removed just now
};
[[nodiscard]] std::string_view name(Refusal refusal);

// A job is one delivery to be verified, leased to one worker at a time.
struct Job {
  int64_t id = 0;
  uint64_t token = 0;    // fences off whoever had the lease before
  uint32_t attempt = 0;  // from 1
  DeliveryInfo delivery;
};
struct DeadJob {
  int64_t id = 0;
  uint32_t attempts = 0;
  std::string why;
  DeliveryInfo delivery;
};

// Names of files that somebody let go: those that nobody needs are claimed, and to be removed.
struct Removals {
  std::vector<BlobName> claimed;
  size_t looked_at = 0;  // more than are claimed where some are needed: those are forgotten
};

// Numbers for the dashboard and metrics.
struct QueueCounts {
  uint64_t ready = 0, leased = 0, done = 0, dead = 0;
  std::optional<UnixTime> oldest;  // when the oldest that is not done was received
};
struct WindowTally {
  uint64_t due = 0;       // clients that were registered before it was published
  uint64_t received = 0;  // clients whose file waits for a verdict
  uint64_t accepted = 0;  // clients
  uint64_t rejected = 0;  // clients whose last verdict this is
};
struct ProgressPoint {
  UnixTime from = 0;  // of the interval
  uint64_t received = 0, accepted = 0, rejected = 0;
};
// One client in one window, for compliance.
struct Compliance {
  std::string client;
  std::optional<DeliveryInfo> delivery;  // the accepted one, else the last
};

}  // namespace zkapex
