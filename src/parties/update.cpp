#include "parties/update.h"

#include "attestation/inputs.h"
#include "base/outputs.h"
#include "parties/base_model.h"
#include "parties/client.h"
#include "parties/pending.h"
#include "parties/settle.h"

namespace zkapex {

namespace {

// A window that was settled: its mask, and the state before it if it had a guide.
struct SettledWindow {
  KeptWindow window;
  std::optional<OpenSecret> before;
};

Result<std::vector<SettledWindow>> read_past(const ClientFolder& folder, const Deployment& deployment,
                                             const History& history) {
  std::vector<SettledWindow> out;
  for (const AppliedWindow& applied : history) {
    const Path at = folder.past(applied.mask);
    if (!std::filesystem::exists(at))
      return error("{} is not there any more: no update can show that it keeps what the window '{}' did", at.string(),
                   applied.window);
    SettledWindow& settled = out.emplace_back();
    ZKAPEX_TRY(settled.window.mask, read_mask(at / "mask.zka", deployment));
    if (settled.window.mask.digest() != applied.mask)
      return error("{} is not the mask of the window '{}'", (at / "mask.zka").string(), applied.window);
    if (!settled.window.mask.guidance) continue;
    ZKAPEX_TRY(settled.before, OpenSecret::open(at / "secret.zka", deployment));
    settled.window.before = settled.before->secret().rows;
  }
  return out;
}

struct UpdateInputs {
  Deployment deployment;
  OpenSecret state;
  ClientRecord record;
  std::vector<KeptWindow> windows;
  std::vector<OpenSecret> before;  // of the guided ones
  Path model_file, store_file;
  Checkpoint model;
  StoreReader store;
  bool curvature;
  std::optional<BaseRows> base;

  static Result<UpdateInputs> open(const UpdateRequest& request);
  [[nodiscard]] KnownModels known_models() const;
};

Result<UpdateInputs> UpdateInputs::open(const UpdateRequest& request) {
  const ClientFolder folder{request.client};
  ZKAPEX_TRY(Deployment deployment, read_deployment(folder.deployment()));
  ZKAPEX_TRY(OpenSecret state, OpenSecret::open(folder.secret(), deployment));
  const ClientSecret& secret = state.secret();
  ZKAPEX_TRY(Registered registered, read_registered(folder, deployment, secret));
  ModelCommitment current{registered.digest, secret.update, secret.windows, secret.rows};
  ZKAPEX_TRY(std::vector<SettledWindow> past, read_past(folder, deployment, secret.windows));
  std::vector<KeptWindow> windows;
  std::vector<OpenSecret> before;
  for (SettledWindow& settled : past) {
    windows.push_back(std::move(settled.window));
    if (settled.before) before.push_back(*std::move(settled.before));
  }
  ZKAPEX_TRY(Checkpoint model, Checkpoint::open(request.model));
  if (const Status fits = deployment.layout().check_tensors(model.tensors()); !fits)
    return fits.error().within(request.model.string());
  Path store_file = request.store.empty() ? Path(secret.store_file) : request.store;
  ZKAPEX_TRY(StoreReader store, open_store(store_file, deployment));
  UpdateInputs out{std::move(deployment),  std::move(state),  {std::move(registered), std::move(current), std::nullopt},
                   std::move(windows),     std::move(before), request.model,
                   std::move(store_file),  std::move(model),  std::move(store),
                   !request.store.empty(), std::nullopt};
  return out;
}

KnownModels UpdateInputs::known_models() const {
  const auto opened = [this](const OpenSecret& secret) -> EarlierModel {
    const SecretVector<Scalar>& blindings = secret.secret().model_blindings;
    return {[this, &secret](uint64_t first_row, std::span<int64_t> to) {
              return read_rows(deployment.layout(), first_row, to,
                               [&secret](uint64_t first, std::span<int64_t> some) { return secret.read(first, some); });
            },
            {blindings.data(), blindings.size()}};
  };
  KnownModels out{{}, opened(state)};
  size_t next = 0;
  for (const KeptWindow& window : windows)
    out.before.push_back(window.mask.guidance ? opened(before[next++]) : EarlierModel{});
  return out;
}

ClientSecret state_after_update(const UpdateInputs& inputs, const CheckedUpdate& checked, ProvedRegistration& proved) {
  const ClientSecret& secret = inputs.state.secret();
  return ClientSecret{.deployment = secret.deployment,
                      .registration = secret.registration,
                      .update = checked.next.update,
                      .client = secret.client,
                      .model_file = std::filesystem::absolute(inputs.model_file).string(),
                      .store_file = std::filesystem::absolute(inputs.store_file).string(),
                      .windows = checked.next.windows,
                      .rows = checked.next.rows,
                      .model_blindings = std::move(proved.model_blindings),
                      .curvature_blindings =
                          inputs.curvature ? std::move(proved.curvature_blindings) : secret.curvature_blindings.clone(),
                      .uncovered_blindings = std::move(proved.unchanged_blindings),
                      .uncovered = digest_uncovered(inputs.deployment.layout(), inputs.model)};
}

}  // namespace

Result<Estimate> estimate_updating(const UpdateRequest& request, const WorkSettings& settings) {
  ZKAPEX_TRY(const UpdateInputs inputs, UpdateInputs::open(request));
  const UpdateTerms terms = update_terms(inputs.record, inputs.windows, inputs.curvature);
  ZKAPEX_TRY(const RegistrationPlan plan, plan_registration(inputs.deployment, settings, &terms));
  return estimate_registration(inputs.deployment, plan, settings);
}

Result<UpdateReport> update(const UpdateRequest& request, const WorkSettings& settings) {
  UpdateReport report;
  Stopwatch watch;
  const ClientFolder folder{request.client};
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder.folder));
  ZKAPEX_CHECK(recover(folder));
  ZKAPEX_TRY(const std::vector<Attempt> windows, pending_attempts(folder));
  if (!windows.empty())
    return error("the window '{}' is pending: settle it first, an update starts from what came of it",
                 windows.front().window);
  ZKAPEX_TRY(UpdateInputs inputs, UpdateInputs::open(request));
  const Deployment& deployment = inputs.deployment;
  ZKAPEX_TRY(inputs.base, open_base_option(request.base, deployment, *settings.pool));
  ZKAPEX_CHECK(check_no_client_state(folder, request.out));
  ZKAPEX_CHECK(check_no_record(request.out));
  const Path registered_model = inputs.state.secret().model_file;  // what windows read if this comes to nothing
  ZKAPEX_CHECK(
      check_outputs({request.out}, {request.model, registered_model, inputs.store_file, request.base}, settings.force));
  ZKAPEX_TRY(FileWriter out, FileWriter::create(request.out, {.overwrite = settings.force}));
  const UpdateTerms terms = update_terms(inputs.record, inputs.windows, inputs.curvature);
  const RegistrationStatement statement{&deployment, inputs.record.registered.client,
                                        inputs.base ? &*inputs.base : nullptr, &terms};
  ZKAPEX_TRY(const RegistrationPlan plan, plan_registration(deployment, settings, &terms));
  if (settings.announce) settings.announce(estimate_registration(deployment, plan, settings));
  const Generators generators = load_generators(plan.shape().generators(), settings);
  watch.lap(report.seconds, "prepare");

  const CoordinateReader read = checkpoint_coordinates(deployment, inputs.model);
  const ClientModel model(deployment, read, inputs.store, uncovered_rows(deployment, inputs.model));
  ZKAPEX_TRY(Scratch scratch, Scratch::in(request.client));
  WorkProgress progress(settings, "proving", "parts", plan.shape().forks.size());
  ZKAPEX_TRY(ProvedRegistration proved,
             prove_update(statement, plan, model, inputs.known_models(), registration_batch(deployment, plan, settings),
                          generators, *settings.pool,
                          {.scratch = std::move(scratch), .progress = [&] { return progress.advance(); }}));
  watch.lap(report.seconds, "prove");
  const UpdateFile file{deployment.digest(),  inputs.record.registered.digest,
                        terms.start,          statement.client,
                        inputs.curvature,     plan.cut(),
                        proved.proof.encode()};
  // As the provider will: a state to which nobody follows is worth nothing.
  auto checked = check_update_file(deployment, statement.base, inputs.record, inputs.windows, file, *settings.pool);
  Verdict holds = Done{};
  if (checked) holds = verdict_var(checked->sum, generators, *settings.pool);
  if (!checked || !holds)
    return error("the update does not hold ({})", name((checked ? holds.error() : checked.error()).reason));
  watch.lap(report.seconds, "verify");

  const Bytes bytes = file.encode();
  report.attempt = attempt_id(bytes);
  const ClientSecret next = state_after_update(inputs, *checked, proved);
  ZKAPEX_CHECK(out.write(bytes));
  ZKAPEX_CHECK(out.flush());
  const auto next_change = [&] {
    if (request.between_changes) request.between_changes();
  };
  next_change();
  ZKAPEX_CHECK(make_private_folder(folder.pending_updates()));
  next_change();
  ZKAPEX_TRY(TemporaryFolder pending, TemporaryFolder::create(folder.pending_updates() / report.attempt));
  ZKAPEX_TRY(SecretWriter secret, prepare_secret(pending.file("secret.zka"), next, deployment, read, false));
  ZKAPEX_CHECK(secret.commit());
  next_change();
  ZKAPEX_CHECK(write_file(pending.file("update.zka"), bytes, {.secret = true}));
  ZKAPEX_CHECK(write_file(pending.file("updated.zka"), checked->registered.encode(), {.secret = true}));
  next_change();
  ZKAPEX_CHECK(pending.commit());
  next_change();
  ZKAPEX_CHECK(out.commit());
  next_change();
  watch.lap(report.seconds, "write");
  report.update = checked->next.update;
  report.update_bytes = bytes.size();
  report.update_sha256 = sha256(bytes);
  return report;
}

}  // namespace zkapex
