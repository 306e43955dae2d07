// zkapex unlearn: a client applies a window's mask and proves that it did.
#include <fmt/format.h>

#include <memory>

#include "cli/work.h"

namespace zkapex::cli {

namespace {

struct Options {
  CommonFlags common;
  UnlearnRequest request;
  std::string op = "group-obs";
};

Result<Operator> operator_named(const std::string& text) {
  for (const Operator op : {Operator::kGroupObs, Operator::kMaskOnly}) {
    if (text == name(op)) return op;
  }
  return error("no operator is named '{}'; there are group-obs and mask-only", text);
}

Result<Verdict> run_unlearn(const Options& options) {
  UnlearnRequest request = options.request;
  ZKAPEX_TRY(request.op, operator_named(options.op));
  if (request.model_out == request.proof_out) return error("give -o and --proof different names");
  Work work(options.common);
  ZKAPEX_TRY(const UnlearnReport done, unlearn(request, work.settings()));
  Report report{.headline =
                    fmt::format("{}: unlearned; send {}", request.model_out.string(), request.proof_out.string())};
  report.values["operator"] = options.op;
  report.values["masked"] = done.masked;
  report.values["blocks"] = done.summary.blocks;
  report.values["proof_bytes"] = done.proof_bytes;
  if (request.op == Operator::kGroupObs) {
    report.values["masked_blocks"] = done.summary.masked_blocks;
    report.values["blocks_in_double_precision"] = done.summary.double_precision;
    report.values["blocks_rounded_along_the_factor"] = done.summary.nearest_plane;
  }
  report.values["seconds"] = timings_as_json(done.seconds);
  report.print(options.common.json);
  return Verdict::kDone;
}

}  // namespace

void add_unlearn(CLI::App& parent, Action& action) {
  const auto options = std::make_shared<Options>();
  UnlearnRequest& request = options->request;
  CLI::App* command = parent.add_subcommand("unlearn", "Apply a mask to the client's model, and prove it (client)");
  command->add_option("--client", request.client, "The client's folder")->required();
  command->add_option("--mask", request.mask, "The window's mask file")->required();
  command->add_option("--operator", options->op, "group-obs compensates what is removed; mask-only does not")
      ->capture_default_str();
  command->add_option("-o,--output", request.model_out, "The unlearned model to write: safetensors")->required();
  command->add_option("--proof", request.proof_out, "The proof file to write")->required();
  command->add_option("--model", request.model, "Where the registered model is now, if it moved");
  command->add_option("--curvature", request.store, "Where the curvature store is now, if it moved");
  options->common.offer_all(*command);
  command->footer(
      "Windows follow each other: the next one starts from the model that this one left. The client's state moves on "
      "only\n"
      "when model and proof are on disk; a run that stopped before can be repeated (with --force if it left an "
      "output).\n\n"
      "Examples:\n"
      "  zkapex unlearn --client client --mask psi.zka -o unlearned.safetensors --proof proof.zka\n"
      "  zkapex unlearn --client client --mask psi.zka --operator mask-only -o masked.safetensors --proof proof.zka");
  command->callback([options, &action] { action = [options] { return run_unlearn(*options); }; });
}

}  // namespace zkapex::cli
