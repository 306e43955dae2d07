// zkapex update: a client has learned on.
#include "parties/update.h"

#include <fmt/format.h>

#include <memory>

#include "base/hardening.h"
#include "cli/work.h"

namespace zkapex::cli {

namespace {

struct UpdateOptions {
  CommonFlags common;
  UpdateRequest request;
};

Result<Outcome> run_update(const UpdateOptions& options) {
  const UpdateRequest& request = options.request;
  ZKAPEX_CHECK(keep_memory_private());
  Work work(options.common);
  if (options.common.estimate) {
    ZKAPEX_TRY(const Estimate estimate, estimate_updating(request, work.settings()));
    estimate_report(estimate).print(options.common.json);
    return Outcome::kDone;
  }
  ZKAPEX_TRY(const UpdateReport done, update(request, work.settings()));
  const Report report{.headline = fmt::format("{}: send it, then settle what the provider says", request.out.string()),
                      .values = as_json(request, done)};
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_update(Command parent, Action& action) {
  const auto options = std::make_shared<UpdateOptions>();
  UpdateRequest& request = options->request;
  const Command command = parent.add_command("update", "Go on with a model that has learned more (client)");
  command.add_option("--client", request.client, "The client's folder").required();
  command.add_option("--model", request.model, "The new model: safetensors").required();
  command.add_option("--curvature", request.store, "Its curvature store; without it the committed one stays");
  command.add_option("--base", request.base, "The base model that the deployment is anchored at: safetensors");
  command.add_option("-o,--output", request.out, "The update, for the provider").required();
  options->common.offer_estimate(command);
  options->common.offer_all(command);
  command.footer(
      "Proves that the new model keeps what its windows did: every weight that they removed is zero; in every\n"
      "tensor the model is as near to where their guides have moved the base model as a registered one has to\n"
      "be to the base model; and in every tensor that a guide draws it still follows it by the part that was\n"
      "asked for, measured from the model before that window. A model that does not is refused here, and the\n"
      "tensor is named.\n\n"
      "The client's state stays as it was until settle --update: like a window, an update is pending. Only one\n"
      "of the two can be: of one model there is one successor. Send updates before the provider publishes a\n"
      "mask, and answer a mask before the next update.\n\n"
      "Progress is shown from the weights before each window with a guide, which settle keeps in client/past.\n"
      "Without that folder windows go on, and updates end.\n\n"
      "Examples:\n"
      "  zkapex update --client client --model theta2.safetensors --base theta0.safetensors -o update.zka\n"
      "  zkapex update --client client --model theta2.safetensors --curvature store2.zka --base theta0.safetensors \\\n"
      "      -o update.zka");
  command.runs(action, [options] { return run_update(*options); });
}

}  // namespace zkapex::cli
