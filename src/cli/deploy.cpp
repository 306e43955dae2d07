// zkapex deploy: layout and parameters, published once, before anyone registers.
#include "parties/deploy.h"

#include <fmt/format.h>

#include <memory>

#include "cli/work.h"
#include "parties/describe.h"
#include "weights/cover.h"

namespace zkapex::cli {

namespace {

struct DeployOptions {
  CommonFlags common;
  DeployRequest request;
};

Result<Outcome> run_deploy(const DeployOptions& options) {
  Work work(options.common);
  ZKAPEX_TRY(const DeployReport done, deploy(options.request, work.settings()));
  Report report{.headline = fmt::format("{}: a deployment", options.request.out.string()), .values = as_json(done)};
  if (!options.common.json) report.values["covered"] = summarize_names(covered_names(done.deployment));
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_deploy(Command parent, Action& action) {
  const auto options = std::make_shared<DeployOptions>();
  const Command command = parent.add_command("deploy", "Fix layout and parameters of a deployment (provider)");
  DeployRequest& request = options->request;
  Parameters& p = request.parameters;
  command.add_option("--model", request.model, "The model that clients begin with: safetensors").required();
  command.add_option("--preset", request.preset, "Tensors that unlearning reaches: vit, vit-fc1 or opt");
  command.add_option("--cover", request.cover, "More of them, by name; {i} stands for a number, * for any characters");
  command.add_option("--block", request.block, "Weights in a Fisher block").shows_default();
  command.add_option("--bits", p.curvature_bits, "Bits of an entry of the curvature's factors").shows_default();
  command.add_option("--error", request.error, "How far a block may be from the exact operator").shows_default();
  command
      .add_option("--cap", request.cap,
                  "Most that compensation may move: squared norm, as a multiple of that of what the mask removes")
      .shows_default();
  const Option anchor =
      command
          .add_option("--anchor", request.ratio,
                      "How far a client's model may be from the base model, tensor by tensor: its norm times this")
          .shows_default();
  const Option drift = command
                           .add_option("--drift", request.drift,
                                       "And of biases and gains so much in every entry (root mean square), whatever "
                                       "the base is")
                           .shows_default();
  const Option added =
      command
          .add_option("--added", request.added,
                      "Largest entries (root mean square) of tensors that the base model does not have")
          .shows_default();
  const Option base =
      command.add_option("--base", request.base, "The base model, where it is not the model itself: safetensors");
  const Option free =
      command.add_option("--free", request.free, "Tensors that may be anything, by name as in --cover: a new head");
  Option none = command.add_flag("--no-anchor", request.no_anchor,
                                 "Let clients register any model at all; files and verdicts say so");
  for (const Option& other : {anchor, drift, added, base, free}) none.excludes(other);
  command.add_flag("--allow-loose", request.allow_loose,
                   "Take an error above 1e-2, a cap above 100 or an anchor that holds nothing; files and verdicts then "
                   "say so");
  command.add_option("--row-length", request.row_length, "Weights in one commitment, a power of two; 0 chooses")
      .shows_default();
  command.add_option("--floor", p.floor, "Smallest eigenvalue of the scaled curvature").shows_default();
  command.add_option("--fraction-bits", p.weights.fraction_bits, "Bits of a weight behind the point").shows_default();
  command.add_option("--width", p.weights.width, "Bits of a weight in all").shows_default();
  command.add_option("-o,--output", request.out, "The deployment file to write").required();
  options->common.offer_all(command);
  command.footer(
      "All clients use this file, and its digest names it everywhere. Parameters that could let an integer wrap "
      "around\n"
      "in the proof's field are refused, and so is a model with a weight that does not fit. Tensors that are not "
      "covered\n"
      "stay as they are, whatever their type; one that is covered holds floating-point weights.\n\n"
      "The cap is over squares: Σ (moved)² <= cap · Σ (removed)². An error above 1e-2 or a cap above 100 says little "
      "about\n"
      "a model and needs --allow-loose; an error that every model meets is refused.\n\n"
      "The anchor is over squares, too, tensor by tensor, covered or not: Σ (θ - θ0)² <= anchor² Σ θ0², and for\n"
      "tensors of one dimension + drift² n. What holds no weights (counters, tables) must be the base model's own, "
      "unless it is free. Clients and `admit` need the "
      "base\n"
      "model: its integers are named by a digest here. Free and added tensors are named in every verdict. Where "
      "clients\n"
      "train a classifier alone, or adapters with it, it goes further than any useful anchor: leave it free.\n\n"
      "Rows: long ones make short proofs, but each takes memory. Left to choose, the row length n is the smallest "
      "power\n"
      "of two with n² >= 256 · (covered weights), at least 256 and at most 131072; it is never below the block size\n"
      "(rounded up to a power of two), because a row holds whole blocks.\n\n"
      "--memory and --threads are what clients will prove with, for the size of a proof that is told.\n\n"
      "Examples:\n"
      "  zkapex deploy --model vit-b16.safetensors --preset vit -o deployment.zka\n"
      "  zkapex deploy --model with-adapters.safetensors --base vit-b16.safetensors --free 'head.*' --preset vit -o "
      "d.zka\n"
      "  zkapex deploy --model model/ --preset opt --bits 12 --error 1e-6 -o deployment.zka\n"
      "  zkapex deploy --model m.safetensors --cover 'blocks.{i}.mlp.*.weight' --block 64 -o deployment.zka");
  command.runs(action, [options] { return run_deploy(*options); });
}

}  // namespace zkapex::cli
