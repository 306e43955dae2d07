// zkapex unlearn: a client applies a window's mask and proves that it did.
#include <fmt/format.h>

#include <memory>

#include "base/hardening.h"
#include "cli/trial_figures.h"
#include "cli/work.h"
#include "parties/trial.h"
#include "parties/unlearn.h"

namespace zkapex::cli {

namespace {

struct UnlearnOptions {
  CommonFlags common;
  UnlearnRequest request;
  std::string max_guide = "0.5";
  bool dry_run = false;
  TrialFigures figures;
};

Result<Outcome> run_trial(const UnlearnRequest& request, const TrialFigures& figures, const CommonFlags& common) {
  const bool measures = !figures.splits.empty();
  if (measures && request.model_out.empty()) return error("--splits measures the model that -o names: give both");
  Work work(common);
  ZKAPEX_TRY(const TrialReport tried,
             try_unlearning(
                 {{request.client, request.mask, request.model, request.store, request.max_guide}, request.model_out},
                 work.settings()));
  Report report{.headline = tried.broken.empty() ? "a trial: the request's rules hold; nothing was proved or kept"
                                                 : fmt::format("a trial: {}", tried.broken),
                .values = as_json(tried)};
  if (measures) {
    ZKAPEX_TRY(report.values["accuracy"], measure_trial(figures, tried.model_before, request.model_out, common.quiet));
  }
  report.values["seconds"] = timings_as_json(tried.seconds);
  report.print(common.json);
  return Outcome::kDone;
}

Result<Outcome> run_unlearn(const UnlearnOptions& options) {
  UnlearnRequest request = options.request;
  const Result<Decimal> most = Decimal::parse(options.max_guide);
  if (!most) return most.error().within("--max-guide");
  request.max_guide = *most;
  ZKAPEX_CHECK(keep_memory_private());
  if (options.dry_run) {
    if (!request.proof_out.empty()) return error("--dry-run makes no proof: leave out --proof");
    return run_trial(request, options.figures, options.common);
  }
  if (options.common.estimate) {
    Work work(options.common);
    ZKAPEX_TRY(const Estimate estimate, estimate_unlearning(request, work.settings()));
    estimate_report(estimate).print(options.common.json);
    return Outcome::kDone;
  }
  if (!options.figures.splits.empty()) return error("--splits is for --dry-run; evaluate measures a model at any time");
  if (request.model_out.empty() || request.proof_out.empty())
    return error("-o and --proof say where the model and the proof go: give both, or --dry-run");
  Work work(options.common);
  ZKAPEX_TRY(const UnlearnReport done, unlearn(request, work.settings()));
  Report report{.headline = fmt::format("{}: unlearned; send {}, then settle what the provider says",
                                        request.model_out.string(), request.proof_out.string()),
                .values = as_json(done)};
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_unlearn(Command parent, Action& action) {
  const auto options = std::make_shared<UnlearnOptions>();
  UnlearnRequest& request = options->request;
  const Command command = parent.add_command("unlearn", "Apply a mask to the client's model, and prove it (client)");
  command.add_option("--client", request.client, "The client's folder").required();
  command.add_option("--mask", request.mask, "The window's mask file").required();
  command.add_option("-o,--output", request.model_out, "The unlearned model to write: safetensors");
  command.add_option("--proof", request.proof_out, "The proof file to write");
  command.add_flag(
      "--dry-run", options->dry_run,
      "Only show what the request would do: its rules, and with -o the model, to evaluate before you decide");
  command.add_option("--splits", options->figures.splits,
                     "With --dry-run and -o: measure the model before and after on sets of this split file");
  command.add_option("--sets", options->figures.sets, "Which sets; otherwise forget, retain, personal-test and test");
  command.add_option("--model-folder", options->figures.folder,
                     "Folder of the model's config.json for that, if it is not where the model lies");
  command.add_option("--model", request.model, "Where the registered model is now, if it moved");
  command.add_option("--curvature", request.store, "Where the curvature store is now, if it moved");
  command
      .add_option("--max-guide", options->max_guide,
                  "How far a guide may draw a tensor, in the size of its weights; a request beyond it is refused")
      .shows_default();
  options->common.offer_estimate(command);
  options->common.offer_all(command);
  command.footer(
      "The client's own state stays as it is: the state after the window waits in client/pending until settle says "
      "what\n"
      "the provider's verdict was. Until then the window can be computed again, and a run that stopped can be "
      "repeated\n"
      "(with --force if it left an output). The next window starts from the last one that was accepted.\n\n"
      "The model holds exactly the weights that are proved: a covered tensor whose type cannot hold them is written "
      "in\n"
      "F32, or else in F64, and the report says so.\n\n"
      "Examples:\n"
      "  zkapex unlearn --client client --mask psi.zka -o unlearned.safetensors --proof proof.zka\n"
      "  zkapex unlearn --client client --mask psi.zka --dry-run -o tried.safetensors\n"
      "  zkapex unlearn --client client --mask psi.zka --dry-run -o tried.safetensors --splits splits.json");
  command.runs(action, [options] { return run_unlearn(*options); });
}

}  // namespace zkapex::cli
