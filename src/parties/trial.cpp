#include "parties/trial.h"

#include <optional>

#include "base/outputs.h"
#include "parties/guide_limit.h"
#include "parties/settle.h"

namespace zkapex {

Result<TrialReport> try_unlearning(const TrialRequest& request, const WorkSettings& settings) {
  TrialReport report;
  Stopwatch watch;
  const ClientFolder folder{request.sources.client};
  ZKAPEX_TRY(const FolderLock lock, FolderLock::take(folder.folder));
  ZKAPEX_CHECK(recover(folder));  // a settlement that was cut short decides where the trial starts
  ZKAPEX_TRY(const WindowInputs inputs, WindowInputs::open(request.sources));
  std::optional<FileWriter> file;
  if (!request.model_out.empty()) {
    ZKAPEX_CHECK(check_no_client_state(folder, request.model_out));
    ZKAPEX_CHECK(check_no_record(request.model_out));
    ZKAPEX_CHECK(check_outputs({request.model_out}, {request.sources.mask, inputs.model_file, inputs.store_file},
                               settings.force));
    ZKAPEX_TRY(file, FileWriter::create(request.model_out, {.overwrite = settings.force, .secret = true}));
  }
  ZKAPEX_TRY(const Client client, inputs.client());
  ZKAPEX_CHECK(check_guide(client, inputs.mask, inputs.max_guide));
  watch.lap(report.seconds, "prepare");
  ZKAPEX_TRY(AppliedOperator applied, apply_operator(client, inputs.mask, request.sources.client, settings));
  watch.lap(report.seconds, "apply");
  report.op = inputs.mask.op;
  report.masked = inputs.mask.support.size();
  report.model_before = inputs.model_file;
  report.summary = applied.summary;
  report.tensors = followed_tensors(inputs.deployment.layout(), inputs.mask, applied.summary.groups);
  if (inputs.mask.op != Operator::kMaskOnly) {
    const Status holds = check_rules(inputs.deployment, inputs.mask, applied.summary.groups);
    if (!holds) report.broken = holds.error().message;
  }
  if (file) {
    ZKAPEX_TRY(report.widened, write_unlearned(*file, inputs.deployment, inputs.model, applied.after.reader()));
    ZKAPEX_CHECK(file->commit());
    watch.lap(report.seconds, "write");
  }
  return report;
}

}  // namespace zkapex
