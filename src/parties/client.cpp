#include "parties/client.h"

#include <algorithm>

namespace zkapex {

namespace {

// θ_u = θ_p but for zeros where the mask is.
Result<AppliedOperator> apply_mask(const Client& client, const Mask& mask, UnlearnedModel after,
                                   WorkProgress& progress) {
  const Layout& layout = client.deployment->layout();
  AppliedOperator out{std::move(after), {}};
  std::vector<int64_t> theta;
  size_t next = 0;
  for (uint64_t b = 0; b < layout.blocks(); ++b) {
    const Layout::Block block = layout.block(b);
    theta.resize(block.count);
    ZKAPEX_CHECK(client.read(block.first_coordinate, theta));
    for (; next < mask.support.size() && mask.support[next] < block.first_coordinate + block.count; ++next) {
      theta[mask.support[next] - block.first_coordinate] = 0;
    }
    ZKAPEX_CHECK(out.after.set_block(block, theta, 0));
    ZKAPEX_CHECK(progress.advance());
  }
  out.summary.blocks = layout.blocks();
  return out;
}

}  // namespace

Estimate estimate_registration(const Deployment& deployment, const RegistrationPlan& plan,
                               const WorkSettings& settings) {
  return estimate_registration(deployment, plan, registration_batch(deployment, plan, settings), *settings.pool,
                               Rates::measure());
}

Result<NewRegistration> make_registration(const Deployment& deployment, const BaseRows* base, const std::string& client,
                                          const RegistrationPlan& plan, const ModelReader& model,
                                          const Path& scratch_folder, const Generators& generators,
                                          const WorkSettings& settings) {
  ZKAPEX_TRY(Scratch scratch, Scratch::in(scratch_folder));
  WorkProgress progress(settings, "registering", "parts", plan.shape().forks.size());
  ZKAPEX_TRY(ProvedRegistration proved,
             prove_registration({&deployment, client, base}, plan, model,
                                registration_batch(deployment, plan, settings), generators, *settings.pool,
                                {.scratch = std::move(scratch), .progress = [&] { return progress.advance(); }}));
  RegistrationFile file{deployment.digest(), client, plan.cut(), proved.proof.encode()};
  auto registered = assume_registration(deployment, file);
  if (!registered) return error("{}", registered.error().detail);
  return NewRegistration{std::move(file), *std::move(registered), std::move(proved)};
}

Result<AppliedOperator> apply_operator(const Client& client, const Mask& mask, const Path& scratch,
                                       const WorkSettings& settings) {
  const Layout& layout = client.deployment->layout();
  WorkProgress progress(settings, "unlearning", "blocks", layout.blocks());
  ZKAPEX_TRY(UnlearnedModel after, UnlearnedModel::make(*client.deployment, scratch));
  if (mask.op == Operator::kMaskOnly) return apply_mask(client, mask, std::move(after), progress);
  AppliedOperator out{std::move(after), {}};
  const BlockReader blocks = [&](uint64_t index, std::span<int64_t> theta) {
    return client.read(layout.block(index).first_coordinate, theta);
  };
  const BlockSink sink = [&](uint64_t index, std::span<const int64_t> theta, const ObsOutcome& outcome) -> Status {
    ZKAPEX_CHECK(progress.advance());
    return out.after.set_block(layout.block(index), theta, outcome.residual);
  };
  ZKAPEX_TRY(out.summary, apply_group_obs(*client.deployment, mask, *client.store, blocks, sink, *settings.pool));
  return out;
}

Result<ProvedWindow> attest_window(const Client& client, const Mask& mask, const WindowPlan& plan,
                                   const UnlearnedModel& after, const Path& scratch_folder,
                                   const Generators& generators, const WorkSettings& settings, Tamper* tamper) {
  const Deployment& deployment = *client.deployment;
  const ClientModel before(deployment, client.read, *client.store);
  Stopwatch watch;
  Timings seconds;
  ZKAPEX_TRY(const WindowBits bits, WindowBits::make(deployment, mask, plan, before, after, *settings.pool));
  const ClientRecord& record = client.record;
  const WindowStatement statement = window_statement(deployment, record.registered, record.current, mask);
  ZKAPEX_TRY(Scratch scratch, Scratch::in(scratch_folder));
  watch.lap(seconds, "rules");
  const size_t parts = plan.shape().forks.size();
  WorkProgress progress(settings, "proving", "parts", parts);
  size_t done = 0;
  const auto advance = [&] {
    ++done;
    if (done == plan.segments().size()) watch.lap(seconds, "segments");
    if (done == parts) watch.lap(seconds, "range");
    return progress.advance();
  };
  ZKAPEX_TRY(WindowProof proved,
             prove_window(statement, plan, bits, before, client.openings, generators, *settings.pool,
                          {.scratch = std::move(scratch), .progress = advance, .tamper = tamper}));
  watch.lap(seconds, "opening");
  auto segments = std::ranges::find(seconds.parts, "segments", [](const auto& part) { return part.first; });
  segments->second -= proved.commit_seconds + proved.project_seconds;
  seconds.parts.insert(segments, {{"commit", proved.commit_seconds}, {"project", proved.project_seconds}});
  return ProvedWindow{{deployment.digest(), record.registered.digest, mask.digest(), record.current.digest(),
                       record.registered.client, mask.window, plan.segmentation(), proved.proof.encode()},
                      std::move(proved.blindings),
                      std::move(seconds)};
}

Result<ModelCommitment> check_own_proof(const Client& client, const Mask& mask, const ProofFile& file,
                                        const Generators& generators, ThreadPool& pool) {
  auto next = verify_window_file(*client.deployment, client.record, mask, file, generators, pool);
  if (next) return *std::move(next);
  return error("the proof does not hold ({}): is the curvature store the one that was registered?",
               name(next.error().reason));
}

}  // namespace zkapex
