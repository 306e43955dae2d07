// zkapex unlearn: a client applies a window's mask and proves that it did.
#include <fmt/format.h>

#include <memory>

#include "base/hardening.h"
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
};

// Which tensors the model now has in a wider type, by types.
void describe(const std::vector<Widened>& widened, nlohmann::ordered_json& values) {
  values["widened_tensors"] = widened.size();
  values["widened"] = nlohmann::ordered_json::object();
  for (const Widened& tensor : widened) {
    auto& names = values["widened"][fmt::format("{} to {}", dtype_name(tensor.from), dtype_name(tensor.to))];
    names.push_back(tensor.tensor);
  }
}

Result<Outcome> run_trial(const UnlearnRequest& request, const CommonFlags& common) {
  Work work(common);
  ZKAPEX_TRY(const TrialReport tried,
             try_unlearning(
                 {{request.client, request.mask, request.model, request.store, request.max_guide}, request.model_out},
                 work.settings()));
  Report report{.headline = tried.broken.empty() ? "a trial: the request's rules hold; nothing was proved or kept"
                                                 : fmt::format("a trial: {}", tried.broken)};
  report.values["operator"] = name(tried.op);
  report.values["masked"] = tried.masked;
  report.values["rules_hold"] = tried.broken.empty();
  if (!tried.broken.empty()) report.values["broken"] = tried.broken;
  auto& tensors = report.values["tensors"] = nlohmann::ordered_json::array();
  for (const TrialReport::Tensor& tensor : tried.tensors) {
    tensors.push_back({{"name", tensor.name}, {"progress", tensor.progress}, {"distance", tensor.distance}});
  }
  describe(tried.widened, report.values);
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
    return run_trial(request, options.common);
  }
  if (request.model_out.empty() || request.proof_out.empty())
    return error("-o and --proof say where the model and the proof go: give both, or --dry-run");
  Work work(options.common);
  ZKAPEX_TRY(const UnlearnReport done, unlearn(request, work.settings()));
  Report report{.headline = fmt::format("{}: unlearned; send {}, then settle what the provider says",
                                        request.model_out.string(), request.proof_out.string())};
  report.values["operator"] = name(done.op);
  report.values["window"] = done.attempt.window;
  report.values["attempt"] = done.attempt.id;
  report.values["masked"] = done.masked;
  report.values["blocks"] = done.summary.blocks;
  report.values["proof_bytes"] = done.proof_bytes;
  report.values["proof_sha256"] = to_hex(done.proof_sha256);
  if (done.op != Operator::kMaskOnly) {
    report.values["masked_blocks"] = done.summary.masked_blocks;
    report.values["blocks_in_double_precision"] = done.summary.double_precision;
    report.values["blocks_rounded_along_the_factor"] = done.summary.nearest_plane;
  }
  describe(done.widened, report.values);
  report.values["seconds"] = timings_as_json(done.seconds);
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
  command.add_option("--model", request.model, "Where the registered model is now, if it moved");
  command.add_option("--curvature", request.store, "Where the curvature store is now, if it moved");
  command
      .add_option("--max-guide", options->max_guide,
                  "How far a guide may draw a tensor, in the size of its weights; a request beyond it is refused")
      .shows_default();
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
      "  zkapex unlearn --client client --mask psi.zka --dry-run -o tried.safetensors");
  command.runs(action, [options] { return run_unlearn(*options); });
}

}  // namespace zkapex::cli
