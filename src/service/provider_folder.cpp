#include "service/provider_folder.h"

#include <filesystem>

#include "attestation/inputs.h"
#include "base/names.h"
#include "base/random.h"
#include "log/strict_json.h"

namespace zkapex {

namespace {

constexpr std::string_view kSettingsFile = "provider.json";
constexpr uint64_t kMostDays = 36'500, kMostVerdictSeconds = 366 * 86'400;

Result<uint16_t> read_port(JsonObject& object, const std::string& key) {
  ZKAPEX_TRY(const uint64_t port, object.number(key));
  if (port > 65'535) return error("{}: {} is no port", object.what(), port);
  return static_cast<uint16_t>(port);
}

// A file of the store is relative to the folder; a database elsewhere has an address of its own.
std::string address_within(const Path& folder, const std::string& address) {
  constexpr std::string_view kSqlite = "sqlite:";
  if (!address.starts_with(kSqlite)) return address;
  return std::string(kSqlite) + (folder / address.substr(kSqlite.size())).string();
}

Result<std::unique_ptr<Blobs>> open_blobs(const Path& folder, const ProviderSettings& settings) {
  if (!settings.s3) return open_blob_folder(folder / "blobs");
  ZKAPEX_TRY(const S3Settings s3, s3_settings_of(*settings.s3, folder, folder));
  return open_s3(s3);
}

Result<std::string> random_token() {
  ZKAPEX_TRY(const auto bytes, random_array<32>());
  return to_hex(bytes);
}

Status write_all(const Path& folder, const ProviderSettings& settings, const Path& deployment_file, UnixTime now) {
  ZKAPEX_TRY(const Bytes bytes, read_file(deployment_file, Deployment::kMaxFileBytes));
  const auto deployment = Deployment::parse(bytes);
  if (!deployment.ok()) return deployment.error().within(deployment_file.string());
  if (deployment->anchor().has_value() != !settings.base.empty())
    return deployment->anchor() ? error("the deployment has an anchor: give --base, the model that it names")
                                : error("the deployment has no anchor, so there is no use for a base model");
  ZKAPEX_TRY(const SigningKey log_key, SigningKey::generate());
  ZKAPEX_TRY(const SigningKey statement_key, SigningKey::generate());
  ZKAPEX_CHECK(log_key.write(folder / "log-key.pem"));
  ZKAPEX_CHECK(statement_key.write(folder / "statement-key.pem"));
  ZKAPEX_TRY(const std::string token, random_token());
  ZKAPEX_CHECK(write_file(folder / "admin-token", view(token + "\n"), {.secret = true}));
  ZKAPEX_TRY(const NoteKey log, NoteKey::make(settings.origin, NoteKeyType::kLog, log_key.public_key()));
  ZKAPEX_CHECK(write_file(folder / "policy", view(Policy::of_log(log).text())));
  ZKAPEX_CHECK(make_private_folder(folder / "log"));
  ZKAPEX_TRY(const std::unique_ptr<Blobs> blobs, open_blobs(folder, settings));
  ZKAPEX_TRY(const BlobName blob, put_blob(*blobs, bytes));
  const DeploymentNotice notice{
      .file = {blob.sha256, blob.bytes},
      .deployment = deployment->digest(),
      .log = log,
      .provider = statement_key.public_key(),
      .certified_error = deployment->parameters().error.text(),
      .anchored = deployment->anchor().has_value(),
      .operators = {kOperators.begin(), kOperators.end()},
      .certificate = false,  // no registration proves its curvature
      .retention_days = settings.retention_days,
      .verdict_seconds = settings.verdict_seconds,
      .carried = settings.carried,
      .time = now,
  };
  ZKAPEX_TRY(const Envelope envelope, sign_envelope(notice.encode(), statement_key));
  const std::string entry = envelope.encode();
  ZKAPEX_TRY(Store store, Store::open(address_within(folder, settings.store)));
  ZKAPEX_CHECK(store.set_deployment(blob, Bytes(entry.begin(), entry.end())));
  return write_file(folder / kSettingsFile, view(settings.encode()));
}

}  // namespace

std::string ProviderSettings::encode() const {
  nlohmann::ordered_json json{
      {"store", store},
      {"origin", origin},
      {"base", base},
      {"address", address},
      {"port", port},
      {"admin_address", admin_address},
      {"admin_port", admin_port},
      {"tls_certificate", tls_certificate},
      {"tls_key", tls_key},
      {"retention_days", retention_days},
      {"verdict_seconds", verdict_seconds},
      {"cosignatures", cosignatures},
  };
  if (s3) json["s3"] = s3->json();
  return json.dump(2) + "\n";
}

Result<ProviderSettings> ProviderSettings::decode(std::string_view text) {
  ZKAPEX_TRY(const nlohmann::json json, parse_strict_json(text));
  ZKAPEX_TRY(JsonObject object, JsonObject::open(json, "the settings"));
  ProviderSettings out;
  ZKAPEX_TRY(out.store, object.text("store", 4096));
  ZKAPEX_TRY(out.origin, object.name("origin"));
  ZKAPEX_TRY(out.base, object.text("base", 4096));
  ZKAPEX_TRY(out.address, object.text("address", 64));
  ZKAPEX_TRY(out.port, read_port(object, "port"));
  ZKAPEX_TRY(out.admin_address, object.text("admin_address", 64));
  ZKAPEX_TRY(out.admin_port, read_port(object, "admin_port"));
  ZKAPEX_TRY(out.tls_certificate, object.text("tls_certificate", 4096));
  ZKAPEX_TRY(out.tls_key, object.text("tls_key", 4096));
  // What the deployment's statement says was repeated here once.
  for (const char* said : {"certificate", "clients_carry_state"}) {
    if (object.has(said)) {
      ZKAPEX_CHECK(object.truth(said));
    }
  }
  ZKAPEX_TRY(out.retention_days, object.number("retention_days"));
  ZKAPEX_TRY(out.verdict_seconds, object.number("verdict_seconds"));
  ZKAPEX_TRY(out.cosignatures, object.number("cosignatures"));
  if (object.has("s3")) {
    ZKAPEX_TRY(JsonObject location, object.object("s3"));
    ZKAPEX_TRY(out.s3, S3Location::read(location));
  }
  ZKAPEX_CHECK(object.finish());
  ZKAPEX_CHECK(check_key_name(out.origin));
  if (out.tls_certificate.empty() != out.tls_key.empty())
    return error("the settings: tls_certificate and tls_key go together");
  if (out.retention_days > kMostDays) return error("the settings: retention_days is at most {}", kMostDays);
  if (out.verdict_seconds == 0 || out.verdict_seconds > kMostVerdictSeconds)
    return error("the settings: verdict_seconds is 1 to {}", kMostVerdictSeconds);
  return out;
}

Status ProviderFolder::init(const Path& folder, const ProviderSettings& settings, const Path& deployment,
                            UnixTime now) {
  std::error_code failed;
  if (std::filesystem::exists(folder, failed)) return error("{} exists already", folder.string());
  ZKAPEX_CHECK(ProviderSettings::decode(settings.encode()));
  ZKAPEX_CHECK(make_private_folder(folder));
  Status done = write_all(folder, settings, deployment, now);
  if (!done.ok()) std::filesystem::remove_all(folder, failed);
  return done;
}

Status ProviderFolder::read_secrets(const ProviderSecrets& secrets) {
  if (secrets.statement_key) {
    ZKAPEX_TRY(statement_key_, SigningKey::read(folder_ / "statement-key.pem"));
  }
  if (!secrets.admin_token) return Done{};
  ZKAPEX_TRY(const Bytes bytes, read_file(folder_ / "admin-token", 128));
  std::string token(bytes.begin(), bytes.end());
  while (!token.empty() && token.back() == '\n') token.pop_back();
  if (token.size() < 32) return error("{}/admin-token is too short to be one", folder_.string());
  admin_token_ = std::move(token);
  return Done{};
}

Result<ProviderFolder> ProviderFolder::open(const Path& folder, const ProviderSecrets& secrets) {
  std::error_code failed;
  if (!std::filesystem::exists(folder / kSettingsFile, failed))
    return error("{} is no provider's folder: it has no {} (zkapex provider init makes one)", folder.string(),
                 kSettingsFile);
  ZKAPEX_TRY(const Bytes text, read_file(folder / kSettingsFile, ProviderSettings::kMaxFileBytes));
  auto settings = ProviderSettings::decode({reinterpret_cast<const char*>(text.data()), text.size()});
  if (!settings.ok()) return settings.error().within((folder / kSettingsFile).string());
  ZKAPEX_TRY(Policy policy, Policy::read(folder / "policy"));
  ZKAPEX_TRY(std::unique_ptr<Blobs> blobs, open_blobs(folder, *settings));
  ProviderFolder out(folder, std::move(*settings), std::move(policy), std::move(blobs));
  ZKAPEX_CHECK(out.read_secrets(secrets));

  ZKAPEX_TRY(Store store, out.open_store());
  ZKAPEX_TRY(const std::optional<DeploymentInfo> info, store.deployment());
  if (!info) return error("the store of {} has no deployment", folder.string());
  ZKAPEX_TRY(const Bytes file, out.blobs_->read(info->file));
  ZKAPEX_TRY(Deployment deployment, Deployment::parse(file));
  out.deployment_.emplace(std::move(deployment));
  ZKAPEX_TRY(const Envelope envelope,
             Envelope::decode({reinterpret_cast<const char*>(info->entry.data()), info->entry.size()}));
  ZKAPEX_TRY(DeploymentNotice notice, DeploymentNotice::decode(envelope.payload));
  ZKAPEX_CHECK(verify_envelope(envelope, notice.provider));
  if (out.statement_key_ && out.statement_key_->public_key().id() != notice.provider.id())
    return error("{}/statement-key.pem is not the key that the deployment's statement names", folder.string());
  out.notice_.emplace(std::move(notice));
  return out;
}

std::string ProviderFolder::store_address() const { return address_within(folder_, settings_.store); }

Result<Store> ProviderFolder::open_store() const { return Store::open(store_address()); }

Result<SigningKey> ProviderFolder::read_log_key() const { return SigningKey::read(folder_ / "log-key.pem"); }

Result<std::optional<Note>> ProviderFolder::published_checkpoint() const {
  TileFolder files(log());
  ZKAPEX_TRY(const std::optional<Bytes> bytes, files.read("checkpoint", kMaxNoteBytes));
  if (!bytes) return std::optional<Note>();
  ZKAPEX_TRY(Note note, Note::parse({reinterpret_cast<const char*>(bytes->data()), bytes->size()}));
  return std::optional<Note>(std::move(note));
}

Result<SeenTree> ProviderFolder::published_tree() const {
  ZKAPEX_TRY(const std::optional<Note> note, published_checkpoint());
  if (!note) return SeenTree{0, empty_tree_hash()};
  ZKAPEX_TRY(const TreeHead checkpoint, open_checkpoint(*note, notice_->log));
  return SeenTree{checkpoint.size, checkpoint.root};
}

Result<std::string> random_code() {
  constexpr std::string_view kAlphabet = "23456789ABCDEFGHJKLMNPQRSTUVWXYZ";  // 32: no 0, 1, I, O
  static_assert(kAlphabet.size() == 32);
  ZKAPEX_TRY(const auto bytes, random_array<20>());
  std::string out;
  for (size_t k = 0; k < bytes.size(); ++k) {
    if (k > 0 && k % 5 == 0) out.push_back('-');
    out.push_back(kAlphabet[bytes[k] % kAlphabet.size()]);
  }
  return out;
}

Digest code_digest(std::string_view code) {
  std::string plain;
  for (const char c : code) {
    if (c == '-' || c == ' ' || c == '\t' || c == '\n' || c == '\r') continue;
    plain.push_back(c >= 'a' && c <= 'z' ? static_cast<char>(c - 32) : c);
  }
  return sha256(view("zkapex enrolment code\n" + plain));
}

Result<WindowInfo> publish_request(const ProviderFolder& provider, Store& store, const WindowRequest& request,
                                   UnixTime now) {
  ZKAPEX_TRY(const Mask mask, Mask::parse(request.psi));
  ZKAPEX_CHECK(mask.check_for(provider.deployment()));
  if (request.deadline <= request.opens || request.deadline <= now)
    return error("the deadline must be in the future, and after the window opens");
  ZKAPEX_TRY(const std::vector<WindowInfo> windows, store.windows());
  if (!windows.empty() && windows.back().mask != mask.predecessor && windows.back().mask != mask.digest())
    return error("this request does not continue the last one, {}: make it with mask --after",
                 in_quotes(windows.back().id));
  ZKAPEX_TRY(const BlobName psi, put_blob(provider.blobs(), request.psi));
  ZKAPEX_TRY(const SeenTree seen, provider.published_tree());
  const WindowNotice notice{
      .file = {psi.sha256, psi.bytes},
      .window = mask.window,
      .deployment = mask.deployment,
      .mask = mask.digest(),
      .predecessor = mask.predecessor,
      .nonce = mask.nonce,
      .op = mask.op,
      .opens = request.opens,
      .deadline = request.deadline,
      .seen = seen,
  };
  ZKAPEX_TRY(const Envelope envelope, sign_envelope(notice.encode(), provider.statement_key()));
  const std::string entry = envelope.encode();
  WindowInfo window{
      .id = mask.window,
      .psi = psi,
      .mask = notice.mask,
      .opens = request.opens,
      .deadline = request.deadline,
      .published = now,
      .entry = Bytes(entry.begin(), entry.end()),
      .index = std::nullopt,
  };
  ZKAPEX_TRY(const Taken taken, store.publish_window(window));
  if (taken.refusal != Refusal::kNone)
    return error("{} cannot be published: {}", in_quotes(mask.window), name(taken.refusal));
  return window;
}

}  // namespace zkapex
