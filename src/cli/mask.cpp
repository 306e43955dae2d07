// zkapex mask: the artifact of one window, from scores.
#include <fmt/format.h>

#include <memory>

#include "base/names.h"
#include "cli/work.h"
#include "parties/request.h"

namespace zkapex::cli {

namespace {

struct MaskOptions {
  CommonFlags common;
  RequestOptions request;
};

Result<Outcome> run_mask(const MaskOptions& options) {
  Work work(options.common);
  ZKAPEX_TRY(const RequestReport done, make_request(options.request, work.settings()));
  const Report report{.headline = fmt::format("{}: a mask for the window {}", options.request.out.string(),
                                              in_quotes(done.mask.window)),
                      .values = as_json(done),
                      .warnings = done.warnings};
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_mask(Command parent, Action& action) {
  const auto options = std::make_shared<MaskOptions>();
  RequestOptions& request = options->request;
  const Command command = parent.add_command("mask", "Choose the weights that a window removes (provider)");
  command.add_option("--deployment", request.deployment, "The deployment file").required();
  command.add_option("--scores", request.scores, "Safetensors with one score for each covered weight");
  command.add_option("--ratio", request.ratio, "How many of them, such as 0.04");
  command.add_option("--after", request.after, "The last window's mask, which this one will contain");
  command.add_option("--window", request.window, "Name of the window, never used before").required();
  command.add_option("--operator", request.op,
                     "group-obs (default) compensates what is removed; mask-only does not; guided follows a guide");
  command.add_option("--guide-from", request.guide_from,
                     "A checkpoint that has unlearned, by any method: clients are drawn where it went");
  command.add_option("--guide-base", request.guide_base, "The checkpoint that it started from");
  command.add_option("--method", request.method, "The name of that method, for everybody to read: NegGrad+, NPO")
      .shows_default();
  command.add_option("--guide-scale", request.guide_scale, "What the way between them is multiplied by")
      .shows_default();
  command.add_option("--pull", request.pull, "t, how strongly clients are drawn").shows_default();
  command.add_option("--progress", request.progress, "Part of the guide that every tensor has to follow")
      .shows_default();
  command
      .add_option("--distance", request.distance,
                  "How far a tensor may stay from the guide: so many times the guide's square, and")
      .shows_default();
  command.add_option("--distance-removed", request.distance_removed, "so many times the square of what is removed")
      .shows_default();
  command.add_option("--nonce", request.nonce, "64 hexadecimal digits; fresh ones where not given");
  command.add_option("-o,--output", request.out, "The mask file to write").required();
  options->common.offer_all(command);
  command.footer(
      "Scores are tensors with the names and sizes of the covered ones, and no others. The highest are removed, over "
      "all tensors\n"
      "together; equal scores go by position, so that every machine finds the same mask. One thread and little memory "
      "are\n"
      "enough: --threads and --memory are there for scripts that give them to every command.\n\n"
      "Which operator clients are to apply stands in the mask: they have no say in it, and a proof of the other does "
      "not\n"
      "pass.\n\n"
      "With a guide the request says where the weights that stay are drawn: from --guide-base to --guide-from, kept as "
      "one\n"
      "of -m, 0, m a weight. A client's curvature decides how far it follows; the rules say how far it has to, in "
      "every\n"
      "tensor. Then --scores and --ratio may be left out, and nothing is removed.\n\n"
      "Publish the mask only after clients have registered: a curvature that is chosen with the mask in sight can "
      "steer\n"
      "what compensation does.\n\n"
      "After the first window give --after, the mask before this one: its weights are removed too. Clients and "
      "verifiers\n"
      "refuse a mask that leaves out what the client's last one removed.\n\n"
      "Examples:\n"
      "  zkapex mask --deployment deployment.zka --scores S.safetensors --ratio 0.04 --window 2026-11 -o psi.zka\n"
      "  zkapex mask --deployment deployment.zka --scores S.safetensors --ratio 0.04 --window 2026-12 --after psi.zka "
      "\\\n"
      "      -o next.zka\n"
      "  zkapex mask --deployment deployment.zka --scores S.safetensors --ratio 0.01 --guide-base model.safetensors "
      "\\\n"
      "      --guide-from unlearned.safetensors --window 2026-11 -o psi.zka");
  command.runs(action, [options] { return run_mask(*options); });
}

}  // namespace zkapex::cli
