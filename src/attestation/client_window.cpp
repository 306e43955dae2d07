#include "attestation/client_window.h"

#include "attestation/inputs.h"
#include "attestation/provider.h"
#include "attestation/window_prover.h"

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

// The operator on the client's model.
Result<UnlearnedModel> run_operator(const Deployment& deployment, const Mask& mask, Operator op,
                                    const StoreReader& store, const CoordinateReader& read,
                                    const WorkSettings& settings, ObsSummary& summary) {
  const Layout& layout = deployment.layout();
  UnlearnedModel out(deployment);
  Progress progress(settings.progress, "unlearning", "blocks", layout.blocks());
  if (op == Operator::kMaskOnly) {
    std::vector<int64_t> theta;
    size_t next = 0;
    for (uint64_t b = 0; b < layout.blocks(); ++b) {
      const Layout::Block block = layout.block(b);
      theta.resize(block.count);
      ZKAPEX_CHECK(read(block.first_coordinate, theta));
      for (; next < mask.support.size() && mask.support[next] < block.first_coordinate + block.count; ++next) {
        theta[mask.support[next] - block.first_coordinate] = 0;
      }
      out.set_block(block, theta, 0);
      progress.advance();
    }
    summary.blocks = layout.blocks();
    return out;
  }
  const BlockReader blocks = [&](uint64_t index, std::span<int64_t> theta) {
    return read(layout.block(index).first_coordinate, theta);
  };
  const BlockSink sink = [&](uint64_t index, std::span<const int64_t> theta, const ObsOutcome& outcome) {
    out.set_block(layout.block(index), theta, outcome.residual);
    progress.advance();
    return Status(Done{});
  };
  ZKAPEX_TRY(summary, apply_group_obs(deployment, mask, store, blocks, sink, *settings.pool));
  return out;
}

Result<Registered> open_own_registration(const WindowInputs& inputs, const Generators& generators, ThreadPool& pool) {
  auto rows = open_registration(inputs.deployment, inputs.registration, false, generators, pool);
  if (!rows) return error("this client's registration: {}", rows.error().detail);
  return *std::move(rows);
}

Result<WindowProof> prove(const WindowInputs& inputs, const WindowPlan& plan, const ClientRecord& record,
                          const ClientModel& before, const UnlearnedModel& after, const Path& scratch_folder,
                          const Generators& generators, const WorkSettings& settings) {
  const Deployment& deployment = inputs.deployment;
  const ClientSecret& secret = inputs.state.secret();
  ZKAPEX_TRY(const WindowBits bits, WindowBits::make(deployment, plan, before, after, *settings.pool));
  const WindowStatement statement = window_statement(deployment, record.registered, record.current, inputs.mask);
  const ModelOpenings openings{{secret.model_blindings.data(), secret.model_blindings.size()},
                               {secret.curvature_blindings.data(), secret.curvature_blindings.size()}};
  ZKAPEX_TRY(Scratch scratch, Scratch::in(scratch_folder));
  Progress progress(settings.progress, "proving", "segments", plan.segments().size());
  return prove_window(statement, plan, bits, before, openings, settings.memory / 6, generators, *settings.pool,
                      {.scratch = std::move(scratch), .progress = [&] { progress.advance(); }});
}

// Another store than the registered one, or a machine that errs, must not move the client to where no provider follows.
Status check_own_proof(const WindowInputs& inputs, const ClientRecord& record, const ProofFile& file,
                       const Generators& generators, ThreadPool& pool) {
  const Verdict verdict = verify_window_file(inputs.deployment, record, inputs.mask, file, generators, pool);
  if (verdict) return Done{};
  return error("the proof does not hold ({}): is the curvature store the one that was registered?",
               name(verdict.error().reason));
}

Result<ClientSecret> state_after(const WindowInputs& inputs, const ModelCommitment& current, const ProofFile& file,
                                 SecretVector<Scalar> blindings, ThreadPool& pool) {
  auto next = next_model(inputs.deployment, current, inputs.mask, file, pool);
  if (!next) return error("{}", next.error().detail);
  const ClientSecret& secret = inputs.state.secret();
  return ClientSecret{.deployment = secret.deployment,
                      .registration = secret.registration,
                      .client = secret.client,
                      .model_file = std::filesystem::absolute(inputs.model_file).string(),
                      .store_file = std::filesystem::absolute(inputs.store_file).string(),
                      .windows = std::move(next->windows),
                      .rows = std::move(next->rows),
                      .model_blindings = std::move(blindings),
                      .curvature_blindings = secret.curvature_blindings.clone(),
                      .uncovered_blindings = secret.uncovered_blindings.clone(),
                      .uncovered = secret.uncovered};
}

}  // namespace

Result<WindowInputs> WindowInputs::open(const WindowSources& sources) {
  const ClientFolder folder{sources.client};
  ZKAPEX_TRY(Deployment deployment, read_deployment(folder.deployment()));
  ZKAPEX_TRY(RegistrationFile registration, read_public_file<RegistrationFile>(folder.registration()));
  ZKAPEX_TRY(OpenSecret state, OpenSecret::open(folder.secret(), deployment));
  const ClientSecret& secret = state.secret();
  if (registration.digest() != secret.registration)
    return error("{} is not the registration of this secret", folder.registration().string());
  ZKAPEX_TRY(Mask mask, read_mask(sources.mask, deployment));
  ZKAPEX_TRY(std::optional<Mask> last_mask, read_last_mask(folder, secret, deployment));
  if (const Status allowed = check_history(secret, last_mask, mask); !allowed)
    return allowed.error().within(sources.mask.string());
  Path model_file = sources.model.empty() ? Path(secret.model_file) : sources.model;
  ZKAPEX_TRY(Checkpoint model, Checkpoint::open(model_file));
  Status same = deployment.layout().check_tensors(model.tensors());
  if (same) same = check_uncovered(deployment.layout(), model, secret.uncovered);
  if (!same) return same.error().within(model_file.string());
  Path store_file = sources.store.empty() ? Path(secret.store_file) : sources.store;
  ZKAPEX_TRY(StoreReader store, open_store(store_file, deployment));
  return WindowInputs{std::move(deployment), std::move(registration), std::move(state),
                      std::move(mask),       std::move(last_mask),    std::move(model_file),
                      std::move(store_file), std::move(model),        std::move(store)};
}

Result<ComputedWindow> compute_window(const WindowInputs& inputs, Operator op, const Path& scratch,
                                      const WorkSettings& settings, Stopwatch& watch) {
  const Deployment& deployment = inputs.deployment;
  const ClientSecret& secret = inputs.state.secret();
  ThreadPool& pool = *settings.pool;
  ZKAPEX_TRY(const WindowPlan plan,
             WindowPlan::make(deployment, inputs.mask, op,
                              cut_rows(deployment.layout().rows(), rows_per_segment(deployment, settings.memory))));
  const Generators generators = load_generators(plan.shape().generators(), settings);
  ZKAPEX_TRY(Registered registered, open_own_registration(inputs, generators, pool));
  const ModelCommitment current{registered.digest, secret.windows, secret.rows};
  const ClientRecord record{std::move(registered), current, inputs.last_mask};
  watch.lap("prepare");

  const CoordinateReader read = [&](uint64_t first, std::span<int64_t> out) { return inputs.state.read(first, out); };
  const ClientModel before(deployment, read, inputs.store);
  ObsSummary summary;
  ZKAPEX_TRY(UnlearnedModel after, run_operator(deployment, inputs.mask, op, inputs.store, read, settings, summary));
  watch.lap("apply");
  ZKAPEX_TRY(WindowProof proved, prove(inputs, plan, record, before, after, scratch, generators, settings));
  watch.lap("prove");

  ProofFile file{op,
                 deployment.digest(),
                 secret.registration,
                 inputs.mask.digest(),
                 current.digest(),
                 secret.client,
                 inputs.mask.window,
                 plan.segmentation(),
                 proved.proof.encode()};
  ZKAPEX_CHECK(check_own_proof(inputs, record, file, generators, pool));
  watch.lap("verify");
  ZKAPEX_TRY(ClientSecret next, state_after(inputs, current, file, std::move(proved.blindings), pool));
  return ComputedWindow{std::move(after), std::move(file), std::move(next), summary};
}

}  // namespace zkapex
