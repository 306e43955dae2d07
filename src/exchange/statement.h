// What provider and clients sign, and what is logged: in-toto statements of version 1 with predicates of ours, each in
// a DSSE envelope (docs/log.md has their JSON). A statement that is decoded is well formed in every field; whether it
// is true is for others to say. `decode` accepts any order of fields and any white space, and no field that is unknown;
// `encode` writes one form.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "argument/verdict.h"
#include "log/dsse.h"
#include "log/note.h"
#include "unlearning/operator.h"

namespace zkapex {

enum class StatementKind { kDeployment, kClient, kRegistration, kWindow, kUpdate, kSubmission, kVerdict, kUpload };
[[nodiscard]] std::string_view name(StatementKind kind);       // "deployment"
[[nodiscard]] std::string predicate_type(StatementKind kind);  // "urn:zkapex:deployment/v1"
[[nodiscard]] Result<StatementKind> kind_named(std::string_view name);

// Clients in the log are random numbers, never people: 32 lower-case hexadecimal digits.
[[nodiscard]] Status check_pseudonym(std::string_view client);
[[nodiscard]] Result<std::string> random_pseudonym();

// A tree that its signer has seen.
struct SeenTree {
  uint64_t size = 0;
  TreeHash root{};
  bool operator==(const SeenTree&) const = default;
};

// A file as statements name it: SHA-256 of all of it (the statement's subject), and how long it is.
struct FileReference {
  static constexpr uint64_t kMaxBytes = uint64_t{1} << 40;

  Sha256::Digest sha256{};
  uint64_t bytes = 0;
  bool operator==(const FileReference&) const = default;
};
[[nodiscard]] FileReference reference_to(ByteView file);

// Signed by the provider; the first entry of its log.
struct DeploymentNotice {
  static constexpr StatementKind kKind = StatementKind::kDeployment;

  FileReference file;               // deployment.zka
  Sha256::Digest deployment{};      // Deployment::digest
  NoteKey log;                      // the log's origin is its name
  PublicKey provider;               // signs statements
  std::string certified_error;      // ε as text, "1e-5"
  bool anchored = false;            // models are held near a base model
  std::vector<Operator> operators;  // that windows may have
  bool certificate = false;         // registrations must prove their curvature
  uint64_t retention_days = 0;      // how long uploads are kept after their verdict
  uint64_t verdict_seconds = 0;     // a verdict follows an upload within that time
  bool carried = false;             // clients keep their records, and send them along with what they hand in
  UnixTime time = 0;

  [[nodiscard]] Bytes encode() const;
  [[nodiscard]] static Result<DeploymentNotice> decode(ByteView payload);
  bool operator==(const DeploymentNotice&) const = default;
};

// Signed by the client's key and the provider's; a rotation by the old key too. The subject is the key.
struct ClientNotice {
  static constexpr StatementKind kKind = StatementKind::kClient;

  std::string client;           // a pseudonym
  Sha256::Digest deployment{};  // Deployment::digest
  PublicKey key;
  uint64_t rotation = 0;  // how many keys the client had before this one
  std::string replaces;   // PublicKey::id of the one before; empty at rotation 0

  [[nodiscard]] Bytes encode() const;
  [[nodiscard]] static Result<ClientNotice> decode(ByteView payload);
  bool operator==(const ClientNotice&) const = default;
};

// Signed by the client.
struct RegistrationNotice {
  static constexpr StatementKind kKind = StatementKind::kRegistration;

  FileReference file;  // registration.zka
  std::string client;
  Sha256::Digest deployment{}, registration{};  // Deployment::digest, RegistrationFile::digest
  bool certificate = false;                     // the file proves the curvature too
  SeenTree seen;

  [[nodiscard]] Bytes encode() const;
  [[nodiscard]] static Result<RegistrationNotice> decode(ByteView payload);
  bool operator==(const RegistrationNotice&) const = default;
};

// Signed by the provider.
struct WindowNotice {
  static constexpr StatementKind kKind = StatementKind::kWindow;

  FileReference file;                                  // psi.zka
  std::string window;                                  // Mask::window
  Sha256::Digest deployment{}, mask{}, predecessor{};  // Deployment::digest, Mask::digest, Mask::predecessor
  std::array<uint8_t, 32> nonce{};                     // Mask::nonce
  Operator op = Operator::kGroupObs;
  UnixTime opens = 0, deadline = 0;  // uploads that are complete at opens <= t < deadline count
  SeenTree seen;                     // at publication: registrations in it came before

  [[nodiscard]] Bytes encode() const;
  [[nodiscard]] static Result<WindowNotice> decode(ByteView payload);
  bool operator==(const WindowNotice&) const = default;
};

// Signed by the client: it has learned on.
struct UpdateNotice {
  static constexpr StatementKind kKind = StatementKind::kUpdate;

  FileReference file;  // update.zka
  std::string client;
  Sha256::Digest deployment{}, registration{};
  Sha256::Digest update{};       // UpdateFile::digest
  Sha256::Digest starts_from{};  // ModelCommitment::digest
  bool curvature = false;        // with a new one

  [[nodiscard]] Bytes encode() const;
  [[nodiscard]] static Result<UpdateNotice> decode(ByteView payload);
  bool operator==(const UpdateNotice&) const = default;
};

// Signed by the client: its proof of a window.
struct SubmissionNotice {
  static constexpr StatementKind kKind = StatementKind::kSubmission;

  FileReference file;  // proof.zka
  std::string client, window;
  Sha256::Digest deployment{}, mask{}, registration{};
  Sha256::Digest starts_from{};  // ModelCommitment::digest

  [[nodiscard]] Bytes encode() const;
  [[nodiscard]] static Result<SubmissionNotice> decode(ByteView payload);
  bool operator==(const SubmissionNotice&) const = default;
};

// Where a verdict that accepts leads.
struct Successor {
  FileReference file;           // the commitment, ModelCommitment::encode
  Sha256::Digest commitment{};  // ModelCommitment::digest
  bool operator==(const Successor&) const = default;
};

// Signed by the provider, on a registration, an update or a submission. The subject is the commitment that it leads to,
// or the file that was rejected.
struct VerdictNotice {
  static constexpr StatementKind kKind = StatementKind::kVerdict;
  static constexpr size_t kMaxDetail = 1024;

  StatementKind of = StatementKind::kSubmission;
  Sha256::Digest id{};  // Envelope::payload_digest of what is judged
  FileReference file;   // that was handed in
  std::string client;
  Sha256::Digest deployment{}, registration{};
  std::optional<Sha256::Digest> starts_from;         // of an update or a submission
  std::string window;                                // of a submission
  std::optional<Sha256::Digest> mask;                // of a submission
  std::optional<Operator> op;                        // of a submission
  std::optional<uint64_t> submission, window_index;  // places in the log of what is judged and of its window
  std::string certified_error;                       // the deployment's ε as text; "0" of a window of the mask alone
  bool curvature_proved = false;                     // else it is assumed
  std::optional<Rejection> rejection;                // none: PASSED
  std::optional<Successor> leads_to;                 // where it passed
  std::string version;                               // of the program that verified
  UnixTime received = 0;                             // when the upload was complete
  UnixTime time = 0;                                 // of the verdict

  [[nodiscard]] bool passed() const { return !rejection; }
  [[nodiscard]] Bytes encode() const;
  [[nodiscard]] static Result<VerdictNotice> decode(ByteView payload);
  bool operator==(const VerdictNotice&) const;
};

// Signed by the provider, given to the client, not logged: whoever has it and finds no verdict in time has evidence.
struct UploadNotice {
  static constexpr StatementKind kKind = StatementKind::kUpload;

  StatementKind of = StatementKind::kSubmission;
  Sha256::Digest id{};  // Envelope::payload_digest of the statement that announced the file
  FileReference file;
  std::string client;
  Sha256::Digest deployment{};
  UnixTime received = 0, verdict_due = 0;

  [[nodiscard]] Bytes encode() const;
  [[nodiscard]] static Result<UploadNotice> decode(ByteView payload);
  bool operator==(const UploadNotice&) const = default;
};

using Statement = std::variant<DeploymentNotice, ClientNotice, RegistrationNotice, WindowNotice, UpdateNotice,
                               SubmissionNotice, VerdictNotice, UploadNotice>;
// Any of them, told by its predicate type.
[[nodiscard]] Result<Statement> decode_statement(ByteView payload);

// A statement of that kind, signed by that key.
template <class T>
[[nodiscard]] Result<T> open_statement(const Envelope& envelope, const PublicKey& key) {
  ZKAPEX_CHECK(verify_envelope(envelope, key));
  return T::decode(envelope.payload);
}

// By the client's own key, whose possession it proves, and `before`, the key that it replaces (nullptr at rotation 0).
// The provider signs afterwards (add_signature); auditors ask for that signature too.
[[nodiscard]] Result<ClientNotice> open_client_statement(const Envelope& envelope, const PublicKey* before);

}  // namespace zkapex
