#include "parties/register_client.h"

#include "attestation/inputs.h"
#include "parties/base_model.h"
#include "parties/client.h"
#include "parties/pending.h"
#include "parties/secret_file.h"

namespace zkapex {

namespace {

struct RegistrationInputs {
  Deployment deployment;
  Checkpoint model;
  StoreReader store;

  static Result<RegistrationInputs> open(const RegisterRequest& request) {
    ZKAPEX_TRY(Deployment deployment, read_deployment(request.deployment));
    ZKAPEX_TRY(Checkpoint model, Checkpoint::open(request.model));
    ZKAPEX_CHECK(deployment.layout().check_tensors(model.tensors()));
    ZKAPEX_TRY(StoreReader store, open_store(request.store, deployment));
    return RegistrationInputs{std::move(deployment), std::move(model), std::move(store)};
  }
};

// A client that has windows is what its provider's ledger knows: without its secret nobody could go on from there.
Status check_replaceable(const ClientFolder& folder, bool force) {
  // The secret comes last: files beside none are what an interrupted registration left.
  if (!std::filesystem::exists(folder.secret())) return Done{};
  if (!force)
    return error("{} exists already; choose another folder, or --force to replace this client",
                 folder.secret().string());
  ZKAPEX_TRY(const std::vector<Attempt> attempts, pending_attempts(folder));
  const Result<ClientSecret> old = read_secret_header(folder.secret());
  ZKAPEX_TRY(const std::vector<std::string> updates, pending_updates(folder));
  if (!attempts.empty() || !updates.empty() || (old && (!old->windows.empty() || old->update != Sha256::Digest{})))
    return error(
        "{} holds a client with windows or updates, whose secret would be lost: choose another folder, or remove this "
        "one",
        folder.folder.string());
  return Done{};
}

// The secret is on disk before anything is replaced, and gets its name last. What an earlier registration left beside
// it belongs to nobody any more.
Status save(const ClientFolder& folder, const Deployment& deployment, const Bytes& registration,
            const ClientSecret& secret, const CoordinateReader& read, bool force) {
  ZKAPEX_TRY(SecretWriter writer, prepare_secret(folder.secret(), secret, deployment, read, force));
  ZKAPEX_CHECK(write_file(folder.deployment(), deployment.serialize(), {.overwrite = true}));
  ZKAPEX_CHECK(write_file(folder.registration(), registration, {.overwrite = true}));
  for (const Path& old : {folder.mask(), folder.settled_proof(), folder.updated(), folder.past(), folder.pending(),
                          folder.pending_updates(), folder.settling()}) {
    std::error_code failed;
    std::filesystem::remove_all(old, failed);
    if (failed) return error("cannot remove {}: {}", old.string(), failed.message());
  }
  return writer.commit();
}

}  // namespace

Result<Estimate> estimate_registering(const RegisterRequest& request, const WorkSettings& settings) {
  ZKAPEX_TRY(const RegistrationInputs inputs, RegistrationInputs::open(request));
  ZKAPEX_TRY(const RegistrationPlan plan, plan_registration(inputs.deployment, settings));
  return estimate_registration(inputs.deployment, plan, settings);
}

Result<RegisterReport> register_client(const RegisterRequest& request, const WorkSettings& settings) {
  RegisterReport report;
  Stopwatch watch;
  ZKAPEX_CHECK(check_client_name(request.client));
  ZKAPEX_TRY(const RegistrationInputs inputs, RegistrationInputs::open(request));
  const Deployment& deployment = inputs.deployment;
  ZKAPEX_TRY(const std::optional<BaseRows> base, open_base_option(request.base, deployment, *settings.pool));
  const ClientFolder folder{request.out};
  if (is_temporary_name(folder.folder.filename().string()) || std::filesystem::exists(folder.folder / "clients"))
    return error("{} cannot be a client's folder: choose a new one", folder.folder.string());
  ZKAPEX_CHECK(make_private_folder(folder.folder));
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder.folder));
  ZKAPEX_CHECK(check_replaceable(folder, settings.force));
  remove_stale_temporaries(folder.folder);
  ZKAPEX_TRY(const RegistrationPlan plan, plan_registration(deployment, settings));
  if (settings.announce) settings.announce(estimate_registration(deployment, plan, settings));
  const Generators generators = load_generators(plan.shape().generators(), settings);
  watch.lap(report.seconds, "prepare");

  const CoordinateReader read = checkpoint_coordinates(deployment, inputs.model);
  const ClientModel model(deployment, read, inputs.store, uncovered_rows(deployment, inputs.model));
  ZKAPEX_TRY(NewRegistration made, make_registration(deployment, base ? &*base : nullptr, request.client, plan, model,
                                                     request.out, generators, settings));
  watch.lap(report.seconds, "commit_and_prove");

  const ClientSecret secret{.deployment = deployment.digest(),
                            .registration = made.registered.digest,
                            .update = {},
                            .client = request.client,
                            .model_file = std::filesystem::absolute(request.model).string(),
                            .store_file = std::filesystem::absolute(request.store).string(),
                            .windows = {},
                            .rows = made.registered.model.rows,
                            .model_blindings = std::move(made.proved.model_blindings),
                            .curvature_blindings = std::move(made.proved.curvature_blindings),
                            .uncovered_blindings = std::move(made.proved.unchanged_blindings),
                            .uncovered = digest_uncovered(deployment.layout(), inputs.model)};
  const Bytes bytes = made.file.encode();
  ZKAPEX_CHECK(save(folder, deployment, bytes, secret, read, settings.force));
  watch.lap(report.seconds, "write");
  report.registration = made.registered.digest;
  report.registration_sha256 = sha256(bytes);
  report.registration_bytes = bytes.size();
  return report;
}

}  // namespace zkapex
