#include "agent/setup.h"

#include <algorithm>

#include "agent/delivery.h"
#include "agent/enrolment.h"
#include "agent/log_view.h"
#include "attestation/inputs.h"
#include "exchange/paths.h"
#include "parties/secret_file.h"

namespace zkapex {

namespace {

bool is_there(const Path& path) {
  std::error_code failed;
  return std::filesystem::exists(path, failed);
}

class Setup {
 public:
  Setup(const AgentFolder& folder, const AgentSetup& setup, WebClient& web)
      : folder_(folder),
        setup_(setup),
        link_(web, setup.config.provider),
        log_(web, setup.config.provider + std::string(paths::kLog)) {}

  Result<SetupReport> run(const WorkSettings& settings) {
    ZKAPEX_CHECK(settle_config());
    ZKAPEX_CHECK(settle_key());
    ZKAPEX_CHECK(settle_policy());
    ZKAPEX_CHECK(meet_provider());
    ZKAPEX_CHECK(fetch_deployment());
    ZKAPEX_CHECK(enrol());
    ZKAPEX_CHECK(register_model(settings));
    return std::move(report_);
  }

 private:
  void changed() const {
    if (setup_.between_changes) setup_.between_changes();
  }
  [[nodiscard]] ClientFolder client() const { return {folder_.client()}; }

  // The pseudonym is on disk before anything is made in its name.
  Status settle_config() {
    if (is_there(folder_.config())) {
      ZKAPEX_TRY(config_, read_config(folder_));
      if (config_.provider != setup_.config.provider)
        return error("{} is an agent of {}: choose another folder", folder_.folder.string(), config_.provider);
    } else {
      config_ = setup_.config;
      if (config_.client.empty()) {
        ZKAPEX_TRY(config_.client, own_pseudonym());
      }
      ZKAPEX_CHECK(check_pseudonym(config_.client));
      ZKAPEX_CHECK(write_file(folder_.config(), view(config_.encode()), {.secret = true}));
      changed();
    }
    report_.client = config_.client;
    return Done{};
  }

  Result<std::string> own_pseudonym() const {
    if (!is_there(client().secret())) return random_pseudonym();
    ZKAPEX_TRY(const ClientSecret secret, read_secret_header(client().secret()));
    if (const Status fits = check_pseudonym(secret.client); !fits)
      return fits.error().within(
          fmt::format("{} was registered under a name that the log must not show", folder_.client().string()));
    return secret.client;
  }

  Status settle_key() {
    if (!is_there(folder_.key())) {
      ZKAPEX_TRY(const SigningKey key, SigningKey::generate());
      ZKAPEX_CHECK(key.write(folder_.key()));
      changed();
    }
    ZKAPEX_TRY(key_, SigningKey::read(folder_.key()));
    return Done{};
  }

  Status settle_policy() {
    if (!is_there(folder_.policy())) {
      Policy policy;
      if (setup_.policy.empty()) {
        ZKAPEX_TRY(const Reply reply, link_.get(paths::kPolicy, Policy::kMaxFileBytes));
        if (reply.refusal) return as_error(*reply.refusal);
        ZKAPEX_TRY(policy, Policy::parse(reply.text()));
        report_.suggested = true;
      } else {
        ZKAPEX_TRY(policy, Policy::read(setup_.policy));
      }
      if (policy.logs().empty()) return error("the policy names no log");
      ZKAPEX_CHECK(write_file(folder_.policy(), view(policy.text()), {.secret = true}));
      changed();
    }
    ZKAPEX_TRY(policy_, Policy::read(folder_.policy()));
    return Done{};
  }

  // The deployment's statement is the first entry of the log, so that all who read the log know one provider's key.
  Status meet_provider() {
    if (!is_there(folder_.provider())) {
      ZKAPEX_TRY(const Reply reply, link_.get(paths::kDeployment, 2 * kMaxEntryBytes));
      if (reply.refusal) return as_error(*reply.refusal);
      ZKAPEX_TRY(const DeploymentAnswer answer, DeploymentAnswer::decode(reply.text()));
      const LoggedEnvelope& logged = answer.deployment;
      if (!logged.index || *logged.index != 0)
        return error("the deployment's statement is not the first entry of the log");
      ZKAPEX_TRY(const DeploymentNotice notice, DeploymentNotice::decode(logged.envelope.payload));
      ZKAPEX_CHECK(verify_envelope(logged.envelope, notice.provider));
      ZKAPEX_TRY(const LogSight sight, look_at_log(folder_, policy_, log_));
      if (sight.split) return error("the log contradicts itself: see {}", folder_.split_view().string());
      if (std::ranges::none_of(policy_.logs(), [&](const Policy::Log& log) { return log.key == notice.log; }))
        return error("the deployment's statement names another log than the policy");
      ZKAPEX_TRY(const Receipt receipt, prove_logged(logged, sight, policy_, log_));
      ZKAPEX_CHECK(write_file(folder_.provider_receipt(), view(receipt.encode()), {.overwrite = true, .secret = true}));
      changed();
      ZKAPEX_CHECK(write_envelope(folder_.provider(), logged.envelope));
      changed();
    }
    ZKAPEX_TRY(const Envelope envelope, read_envelope(folder_.provider()));
    ZKAPEX_TRY(provider_, DeploymentNotice::decode(envelope.payload));
    report_.log = provider_->log.name;
    report_.log_key = provider_->log.vkey();
    return Done{};
  }

  Status fetch_deployment() {
    if (is_there(folder_.deployment())) return Done{};
    const FileReference& file = provider_->file;
    if (file.bytes > kMaxPublicFile) return error("the deployment's file has {} bytes: too many", file.bytes);
    ZKAPEX_TRY(const Reply reply, link_.get(paths::kDeploymentFile, file.bytes));
    if (reply.refusal) return as_error(*reply.refusal);
    if (reference_to(reply.body) != file) return error("the deployment's file is not the one that is in the log");
    ZKAPEX_CHECK(write_file(folder_.deployment(), reply.body));
    changed();
    return Done{};
  }

  // The same key again is known to the provider, whatever became of its first answer.
  Status enrol() {
    if (is_there(folder_.enrolment())) return Done{};
    if (setup_.code.empty()) return error("give the provider's one-time code (--code)");
    const ClientNotice notice{.client = config_.client,
                              .deployment = provider_->deployment,
                              .key = key_->public_key(),
                              .rotation = 0,
                              .replaces = {}};
    ZKAPEX_TRY(const Envelope envelope, sign_envelope(notice.encode(), *key_));
    ZKAPEX_TRY(const KeyAnswer enrolled, enrol_key(link_, setup_.code, envelope, provider_->provider));
    if (enrolled.refused) return as_error(*enrolled.refused);
    changed();
    ZKAPEX_CHECK(write_envelope(folder_.enrolment(), enrolled.statement));
    changed();
    return Done{};
  }

  Status register_model(const WorkSettings& settings) {
    if (!is_there(client().secret())) {
      if (setup_.model.empty() || setup_.store.empty())
        return error("give the model and its curvature (--model, --curvature), or register in {}",
                     folder_.client().string());
      ZKAPEX_TRY(report_.registration, register_client({.deployment = folder_.deployment(),
                                                        .model = setup_.model,
                                                        .store = setup_.store,
                                                        .base = setup_.base,
                                                        .client = config_.client,
                                                        .out = folder_.client()},
                                                       settings));
      changed();
    }
    ZKAPEX_TRY(const ClientSecret secret, read_secret_header(client().secret()));
    if (secret.client != config_.client)
      return error("{} is registered under another name than this agent's", folder_.client().string());
    if (secret.deployment != provider_->deployment)
      return error("{} is registered for another deployment than the provider's", folder_.client().string());
    return Done{};
  }

  const AgentFolder& folder_;
  const AgentSetup& setup_;
  ProviderLink link_;
  WebTiles log_;
  AgentConfig config_;
  std::optional<SigningKey> key_;
  Policy policy_;
  std::optional<DeploymentNotice> provider_;
  SetupReport report_;
};

}  // namespace

Result<SetupReport> set_up(const AgentFolder& folder, const AgentSetup& setup, WebClient& web,
                           const WorkSettings& settings) {
  ZKAPEX_CHECK(make_private_folder(folder.folder));
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder.folder));
  remove_stale_temporaries(folder.folder);
  return Setup(folder, setup, web).run(settings);
}

}  // namespace zkapex
