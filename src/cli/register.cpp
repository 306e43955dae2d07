// zkapex register: a client commits to its model and its curvature.
#include <fmt/format.h>

#include <memory>

#include "base/hardening.h"
#include "base/outputs.h"
#include "cli/work.h"
#include "parties/register_client.h"

namespace zkapex::cli {

namespace {

struct RegisterOptions {
  CommonFlags common;
  RegisterRequest request;
};

Result<Outcome> run_register(const RegisterOptions& options) {
  const RegisterRequest& request = options.request;
  const ClientFolder folder{request.out};
  ZKAPEX_CHECK(check_outputs({folder.registration(), folder.secret(), folder.mask()},
                             {request.deployment, request.model, request.store, request.base}, true));
  ZKAPEX_CHECK(keep_memory_private());
  Work work(options.common);
  if (options.common.estimate) {
    ZKAPEX_TRY(const Estimate estimate, estimate_registering(request, work.settings()));
    estimate_report(estimate).print(options.common.json);
    return Outcome::kDone;
  }
  ZKAPEX_TRY(const RegisterReport done, register_client(request, work.settings()));
  const Report report{
      .headline = fmt::format("{}: registered; send registration.zka, keep secret.zka", request.out.string()),
      .values = as_json(request, done)};
  report.print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_register(Command parent, Action& action) {
  const auto options = std::make_shared<RegisterOptions>();
  RegisterRequest& request = options->request;
  const Command command = parent.add_command("register", "Commit to a model and its curvature (client)");
  command.add_option("--deployment", request.deployment, "The deployment file").required();
  command.add_option("--model", request.model, "The client's model: safetensors").required();
  command.add_option("--curvature", request.store, "Its curvature store").required();
  command.add_option("--base", request.base, "The base model that the deployment is anchored at: safetensors");
  command.add_option("--client", request.client, "Identifier of the client").required();
  command.add_option("-o,--output", request.out, "The client's folder").required();
  options->common.offer_estimate(command);
  options->common.offer_all(command);
  command.footer(
      "Writes into the folder: registration.zka for the provider, before any mask is published; secret.zka, readable "
      "by\n"
      "its owner only, which no one else may have; and a copy of the deployment. The model and the store stay where "
      "they\n"
      "are: every window reads them.\n\n"
      "Where the deployment is anchored, and it is unless its provider chose otherwise, the proof shows that in every\n"
      "tensor the model is near the base model. One that is not is refused here, and the tensor is named.\n\n"
      "Interrupted before its end, it leaves no secret.zka, and the same command begins again.\n\n"
      "Examples:\n"
      "  zkapex register --deployment deployment.zka --base theta0.safetensors --model theta.safetensors \\\n"
      "      --curvature store.zka --client alice -o client\n"
      "  zkapex register ... --client alice --memory 300M -o client");
  command.runs(action, [options] { return run_register(*options); });
}

}  // namespace zkapex::cli
