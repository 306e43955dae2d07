#include "parties/unlearn.h"

#include "base/outputs.h"
#include "parties/settle.h"

namespace zkapex {

namespace {

// Outputs that would replace what the command reads, or what the client is.
Status check_window_outputs(const UnlearnRequest& request, const WindowInputs& inputs, bool force) {
  const std::vector<Path> outputs = {request.model_out, request.proof_out};
  for (const Path& out : outputs) {
    ZKAPEX_CHECK(check_no_client_state(ClientFolder{request.client}, out));
    ZKAPEX_CHECK(check_no_record(out));
  }
  return check_outputs(outputs, {request.mask, inputs.model_file, inputs.store_file}, force);
}

struct OutputFiles {
  FileWriter model, proof;

  static Result<OutputFiles> create(const UnlearnRequest& request, bool force) {
    const WriteOptions options{.overwrite = force, .secret = true};
    ZKAPEX_TRY(FileWriter model, FileWriter::create(request.model_out, options));
    ZKAPEX_TRY(FileWriter proof, FileWriter::create(request.proof_out, {.overwrite = force}));
    return OutputFiles{std::move(model), std::move(proof)};
  }
};

}  // namespace

Result<Estimate> estimate_unlearning(const UnlearnRequest& request, const WorkSettings& settings) {
  ZKAPEX_TRY(const WindowInputs inputs,
             WindowInputs::open({request.client, request.mask, request.model, request.store, request.max_guide}));
  ZKAPEX_TRY(const WindowPlan plan, plan_window(inputs.deployment, inputs.mask, settings));
  return estimate_of(inputs, plan, *settings.pool);
}

Result<UnlearnReport> unlearn(const UnlearnRequest& request, const WorkSettings& settings) {
  UnlearnReport report;
  Stopwatch watch;
  const ClientFolder folder{request.client};
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder.folder));  // two at once would leave one state of two
  ZKAPEX_CHECK(recover(folder));
  ZKAPEX_TRY(const std::vector<std::string> updates, pending_updates(folder));
  if (!updates.empty())
    return error("an update is pending: settle it first (settle --update), a window starts from what came of it");
  ZKAPEX_TRY(const WindowInputs inputs,
             WindowInputs::open({request.client, request.mask, request.model, request.store, request.max_guide}));
  ZKAPEX_CHECK(check_window_outputs(request, inputs, settings.force));
  ZKAPEX_TRY(OutputFiles outputs, OutputFiles::create(request, settings.force));
  ZKAPEX_TRY(const ComputedWindow computed, compute_window(inputs, request.client, settings, report.seconds));

  watch.lap();
  // All that needs room on the disk comes first; then the attempt appears, before anyone can have its proof.
  const auto next_change = [&] {
    if (request.between_changes) request.between_changes();
  };
  const Bytes proof = computed.proof.encode();
  ZKAPEX_TRY(report.widened, write_unlearned(outputs.model, inputs.deployment, inputs.model, computed.after.reader()));
  ZKAPEX_CHECK(outputs.model.flush());
  ZKAPEX_CHECK(outputs.proof.write(proof));
  ZKAPEX_CHECK(outputs.proof.flush());
  next_change();
  ZKAPEX_TRY(PendingAttempt pending, PendingAttempt::prepare(folder, inputs, computed));
  next_change();
  ZKAPEX_CHECK(pending.commit());
  next_change();
  ZKAPEX_CHECK(outputs.model.commit());
  next_change();
  ZKAPEX_CHECK(outputs.proof.commit());
  watch.lap(report.seconds, "write");
  report.summary = computed.summary;
  report.attempt = pending.attempt();
  report.op = inputs.mask.op;
  report.masked = inputs.mask.support.size();
  report.proof_bytes = proof.size();
  report.proof_sha256 = sha256(proof);
  return report;
}

}  // namespace zkapex
