#include "parties/client_window.h"

#include "attestation/inputs.h"
#include "parties/guide_limit.h"

namespace zkapex {

namespace {

// The client's history allows this window.
Status check_history(const ClientSecret& secret, const std::optional<Mask>& last_mask, const Mask& mask) {
  if (has_applied(secret.windows, mask.window))
    return error("the window '{}' was applied to this client already", mask.window);
  if (last_mask && !mask.contains(*last_mask)) {
    return error(
        "the mask leaves out weights that the window '{}' removed from this client: ask the provider for a mask that "
        "was made with mask --after",
        last_mask->window);
  }
  if (secret.windows.size() == kMaxWindows) {
    return error("this client has applied {} windows, as many as a registration allows: register it anew", kMaxWindows);
  }
  return Done{};
}

// That of the last window in the history; none before the first.
Result<std::optional<Mask>> read_last_mask(const ClientFolder& folder, const ClientSecret& secret,
                                           const Deployment& deployment) {
  if (secret.windows.empty()) return std::optional<Mask>();
  ZKAPEX_TRY(Mask mask, read_mask(folder.mask(), deployment));
  if (mask.digest() != secret.windows.back().mask)
    return error("{} is not the mask of this client's last window", folder.mask().string());
  return std::optional(std::move(mask));
}

// Where it is now, if the caller says so, else where it was at registration.
Result<Path> registered_file(const std::string& then, const Path& now, std::string_view what, std::string_view option) {
  if (!now.empty()) return now;
  if (!std::filesystem::exists(then))
    return error("the {} that was registered is not at {} any more: say by {} where it is", what, then, option);
  return Path(then);
}

ClientSecret state_after(const WindowInputs& inputs, ModelCommitment next, SecretVector<Scalar> blindings) {
  const ClientSecret& secret = inputs.state.secret();
  return ClientSecret{.deployment = secret.deployment,
                      .registration = secret.registration,
                      .update = secret.update,
                      .client = secret.client,
                      .model_file = std::filesystem::absolute(inputs.model_file).string(),
                      .store_file = std::filesystem::absolute(inputs.store_file).string(),
                      .windows = std::move(next.windows),
                      .rows = std::move(next.rows),
                      .model_blindings = std::move(blindings),
                      .curvature_blindings = secret.curvature_blindings.clone(),
                      .uncovered_blindings = secret.uncovered_blindings.clone(),
                      .uncovered = secret.uncovered};
}

}  // namespace

Result<Registered> read_registered(const ClientFolder& folder, const Deployment& deployment,
                                   const ClientSecret& secret) {
  if (secret.update != Sha256::Digest{}) {
    ZKAPEX_TRY(Registered updated, read_public_file<Registered>(folder.updated()));
    if (updated.digest != secret.registration || updated.model.update != secret.update)
      return error("{} is not of the last update of this secret", folder.updated().string());
    return updated;
  }
  ZKAPEX_TRY(const RegistrationFile file, read_public_file<RegistrationFile>(folder.registration()));
  if (file.digest() != secret.registration)
    return error("{} is not the registration of this secret", folder.registration().string());
  auto registered = assume_registration(deployment, file);
  if (!registered) return error("this client's registration: {}", registered.error().detail);
  return *std::move(registered);
}

Result<WindowInputs> WindowInputs::open(const WindowSources& sources) {
  const ClientFolder folder{sources.client};
  ZKAPEX_TRY(Deployment deployment, read_deployment(folder.deployment()));
  ZKAPEX_TRY(OpenSecret state, OpenSecret::open(folder.secret(), deployment));
  const ClientSecret& secret = state.secret();
  ZKAPEX_TRY(Registered registered, read_registered(folder, deployment, secret));
  ZKAPEX_TRY(Mask mask, read_mask(sources.mask, deployment));
  ZKAPEX_TRY(std::optional<Mask> last_mask, read_last_mask(folder, secret, deployment));
  if (const Status allowed = check_history(secret, last_mask, mask); !allowed)
    return allowed.error().within(sources.mask.string());
  ZKAPEX_TRY(Path model_file, registered_file(secret.model_file, sources.model, "model", "--model"));
  ZKAPEX_TRY(Checkpoint model, Checkpoint::open(model_file));
  Status same = deployment.layout().check_tensors(model.tensors());
  if (same) same = check_uncovered(deployment.layout(), model, secret.uncovered);
  if (!same) return same.error().within(model_file.string());
  ZKAPEX_TRY(Path store_file, registered_file(secret.store_file, sources.store, "curvature store", "--curvature"));
  ZKAPEX_TRY(StoreReader store, open_store(store_file, deployment));
  return WindowInputs{std::move(deployment), std::move(registered), std::move(state),      std::move(mask),
                      std::move(last_mask),  std::move(model_file), std::move(store_file), std::move(model),
                      std::move(store),      sources.max_guide};
}

Result<Client> WindowInputs::client() const {
  const ClientSecret& secret = state.secret();
  ModelCommitment current{registered.digest, secret.update, secret.windows, secret.rows};
  return Client{&deployment,
                {registered, std::move(current), last_mask},
                [this](uint64_t first, std::span<int64_t> out) { return state.read(first, out); },
                &store,
                {{secret.model_blindings.data(), secret.model_blindings.size()},
                 {secret.curvature_blindings.data(), secret.curvature_blindings.size()}}};
}

Estimate estimate_of(const WindowInputs& inputs, const WindowPlan& plan, ThreadPool& pool) {
  return estimate_window(inputs.deployment, plan, inputs.mask.support.size(), pool, Rates::measure());
}

Result<ComputedWindow> compute_window(const WindowInputs& inputs, const Path& scratch, const WorkSettings& settings,
                                      Timings& seconds) {
  Stopwatch watch;
  ZKAPEX_TRY(const WindowPlan plan, plan_window(inputs.deployment, inputs.mask, settings));
  if (settings.announce) settings.announce(estimate_of(inputs, plan, *settings.pool));
  const Generators generators = load_generators(plan.shape().generators(), settings);
  ZKAPEX_TRY(const Client client, inputs.client());
  ZKAPEX_CHECK(check_guide(client, inputs.mask, inputs.max_guide));
  watch.lap(seconds, "prepare");
  ZKAPEX_TRY(AppliedOperator applied, apply_operator(client, inputs.mask, scratch, settings));
  watch.lap(seconds, "apply");
  ZKAPEX_TRY(ProvedWindow proved,
             attest_window(client, inputs.mask, plan, applied.after, scratch, generators, settings));
  watch.lap(seconds, "prove");
  ZKAPEX_TRY(ModelCommitment next, check_own_proof(client, inputs.mask, proved.file, generators, *settings.pool));
  watch.lap(seconds, "verify");
  return ComputedWindow{std::move(applied.after), std::move(proved.file),
                        state_after(inputs, std::move(next), std::move(proved.blindings)), applied.summary};
}

}  // namespace zkapex
