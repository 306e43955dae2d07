// A provider's folder: what `provider init` makes and every role opens.
//   provider.json       settings, and last: the folder is one once this is there
//   log-key.pem         signs checkpoints; only the role `log` needs it
//   statement-key.pem   signs statements: windows, verdicts, receipts of uploads
//   admin-token         what the admin listener asks of programs and people that change something
//   policy              what clients are advised to trust: the log's key, witnesses
//   store.sqlite        the records, unless they are in PostgreSQL
//   blobs/, log/        uploads by their SHA-256, unless they are in S3; the log's tiles and checkpoint
#pragma once

#include "base/json.h"
#include "exchange/statement.h"
#include "log/policy.h"
#include "service/http_server.h"
#include "service/s3_settings.h"
#include "service/store.h"
#include "unlearning/deployment.h"

namespace zkapex {

struct ProviderSettings {
  static constexpr size_t kMaxFileBytes = 65'536;

  std::string store = "sqlite:store.sqlite";  // a file is relative to the folder
  std::string origin;                         // of the log: a URL without its scheme
  std::string base;                           // the base model's path; empty where the deployment has no anchor
  std::string address = "127.0.0.1", admin_address = "127.0.0.1";
  uint16_t port = 8470, admin_port = 8471;
  std::string tls_certificate, tls_key;  // PEM, of the public listener; empty: plain HTTP
  bool carried = false;                  // clients send their records along: by the deployment's statement
  uint64_t retention_days = 90;
  uint64_t verdict_seconds = 86'400;
  uint64_t cosignatures = 0;     // that a checkpoint needs before it is published
  std::optional<S3Location> s3;  // of the blobs; none: in the folder

  [[nodiscard]] std::string encode() const;
  [[nodiscard]] static Result<ProviderSettings> decode(std::string_view json);
  bool operator==(const ProviderSettings&) const = default;
};

// Which secrets of the folder a process reads: each role only its own.
struct ProviderSecrets {
  bool statement_key = true;  // api and work sign with it
  bool admin_token = true;    // api asks for it
};

class ProviderFolder {
 public:
  // A new folder with new keys; `deployment` is the file, `base` the model that its anchor names. Nothing is left of
  // what fails.
  [[nodiscard]] static Status init(const Path& folder, const ProviderSettings& settings, const Path& deployment,
                                   UnixTime now);
  [[nodiscard]] static Result<ProviderFolder> open(const Path& folder, const ProviderSecrets& secrets = {});

  [[nodiscard]] const Path& folder() const { return folder_; }
  [[nodiscard]] const ProviderSettings& settings() const { return settings_; }
  [[nodiscard]] const Deployment& deployment() const { return *deployment_; }
  [[nodiscard]] const DeploymentNotice& notice() const { return *notice_; }
  [[nodiscard]] const Policy& policy() const { return policy_; }
  [[nodiscard]] const SigningKey& statement_key() const { return statement_key_.value(); }  // if it was asked for
  [[nodiscard]] Blobs& blobs() const { return *blobs_; }
  [[nodiscard]] Path log() const { return folder_ / "log"; }
  [[nodiscard]] const std::string& admin_token() const { return admin_token_.value(); }  // if it was asked for

  [[nodiscard]] std::string store_address() const;
  // A new connection.
  [[nodiscard]] Result<Store> open_store() const;
  [[nodiscard]] Result<SigningKey> read_log_key() const;
  // What everybody sees of the log now.
  [[nodiscard]] Result<std::optional<Note>> published_checkpoint() const;
  [[nodiscard]] Result<SeenTree> published_tree() const;  // of size 0 before the first checkpoint

 private:
  ProviderFolder(Path folder, ProviderSettings settings, Policy policy, std::unique_ptr<Blobs> blobs)
      : folder_(std::move(folder)),
        settings_(std::move(settings)),
        policy_(std::move(policy)),
        blobs_(std::move(blobs)) {}
  [[nodiscard]] Status read_secrets(const ProviderSecrets& secrets);

  Path folder_;
  ProviderSettings settings_;
  Policy policy_;
  std::unique_ptr<Blobs> blobs_;
  std::optional<SigningKey> statement_key_;
  std::optional<std::string> admin_token_;
  std::optional<Deployment> deployment_;
  std::optional<DeploymentNotice> notice_;
};

// 100 random bits in letters and digits that are not taken for each other, in groups: for people to type.
[[nodiscard]] Result<std::string> random_code();
// What the store knows of a code; white space, dashes and case do not matter.
[[nodiscard]] Digest code_digest(std::string_view code);

// Publishes Ψ as a window: the statement is signed over the log as it is seen now, and queued for it.
struct WindowRequest {
  Bytes psi;  // the file
  UnixTime opens = 0, deadline = 0;
};
[[nodiscard]] Result<WindowInfo> publish_request(const ProviderFolder& provider, Store& store,
                                                 const WindowRequest& request, UnixTime now);

}  // namespace zkapex
