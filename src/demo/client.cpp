// The clients' part of the demo: curvature and registration, then unlearning with a proof.
#include "attestation/inputs.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "data/shuffle.h"
#include "demo/run.h"
#include "learning/fisher_store.h"
#include "learning/model_files.h"
#include "parties/register_client.h"
#include "parties/settle.h"
#include "parties/unlearn.h"

namespace zkapex::demo {

namespace {

Status write_curvature(DemoRun& run, size_t k, const Deployment& deployment) {
  const std::string& client = run.settings.clients[k];
  const Stopwatch watch;
  ZKAPEX_TRY(const auto model, load_model(run.files.personal(client), {.placement = run.placement}));
  ZKAPEX_TRY(const Samples drawings, Samples::open(run.splits[k].sets.at("personal"), image_format(), model->config()));
  const BatchSource batches =
      drawings.batches(32, run.settings.fisher_samples, derived_seed(run.settings.seed, 400 + k));
  ZKAPEX_TRY(const FisherStoreReport report,
             write_curvature(*model, batches, deployment, run.settings.unlearning().damping, run.files.store(client),
                             run.work, client + " computes curvature"));
  std::error_code ignored;
  run.client_report(k)["curvature"] = {{"samples", report.fisher.samples},
                                       {"blocks", report.factors.blocks},
                                       {"rank_deficient", report.factors.rank_deficient},
                                       {"damping_raised", report.factors.raised},
                                       {"zero", report.factors.zero},
                                       {"largest_condition", report.factors.largest_condition},
                                       {"bytes", std::filesystem::file_size(run.files.store(client), ignored)}};
  run.client_report(k)["seconds"]["curvature"] = watch.seconds();
  return Done{};
}

}  // namespace

Status register_clients(DemoRun& run) {
  run.tell.step("clients",
                "each computes the curvature of its own data, commits to model and curvature, and registers");
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  for (size_t k = 0; k < run.settings.clients.size(); ++k) {
    const std::string& client = run.settings.clients[k];
    ZKAPEX_CHECK(write_curvature(run, k, deployment));
    const RegisterRequest request{.deployment = run.files.deployment(),
                                  .model = run.files.personal(client) / "model.safetensors",
                                  .store = run.files.store(client),
                                  .base = run.files.original() / "model.safetensors",
                                  .client = client,
                                  .out = run.files.state(client)};
    ZKAPEX_TRY(const RegisterReport done, register_client(request, run.work));
    ZKAPEX_CHECK(replace_file(request.out / "registration.zka", run.files.inbox(client) / "registration.zka"));
    auto& report = run.client_report(k);
    report["registration_bytes"] = done.registration_bytes;
    report["seconds"]["register"] = done.seconds.total();
    run.tell.say(fmt::format("    {}: curvature {:.0f} s, registration {:.0f} s, {} sent", client,
                             report["seconds"]["curvature"].get<double>(), done.seconds.total(),
                             format_size(done.registration_bytes)));
  }
  ZKAPEX_CHECK(make_folder(run.files.cheat_scratch()));
  std::error_code failed;
  std::filesystem::copy(run.files.state(run.settings.clients.back()), run.files.registered_state(), failed);
  if (failed) return error("cannot copy the state of {}: {}", run.settings.clients.back(), failed.message());
  return Done{};
}

Status unlearn_clients(DemoRun& run) {
  run.tell.step(
      "clients",
      "each sets the masked weights to zero, follows the guide as far as its own curvature lets it, and proves that it "
      "did");
  for (size_t k = 0; k < run.settings.clients.size(); ++k) {
    const std::string& client = run.settings.clients[k];
    ZKAPEX_CHECK(replace_file(run.files.personal(client) / "config.json", run.files.unlearned(client) / "config.json"));
    const UnlearnRequest request{.client = run.files.state(client),
                                 .mask = run.files.mask(),
                                 .model_out = run.files.unlearned(client) / "model.safetensors",
                                 .proof_out = run.files.proof(client),
                                 .model = {},
                                 .store = {}};
    ZKAPEX_TRY(const UnlearnReport done, unlearn(request, run.work));
    ZKAPEX_CHECK(replace_file(request.proof_out, run.files.inbox(client) / "proof.zka"));
    auto& report = run.client_report(k);
    report["proof_bytes"] = done.proof_bytes;
    report["seconds"]["unlearn"] = done.seconds.of("apply");
    report["seconds"]["prove"] = done.seconds.of("prove");
    ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
    ZKAPEX_TRY(const Mask mask, zkapex::read_mask(run.files.mask(), deployment));
    const FollowedRange range = range_of(followed_tensors(deployment.layout(), mask, done.summary.groups));
    report["guide"] = {{"least_progress", range.least_progress}, {"most_distance", range.most_distance}};
    run.tell.say(fmt::format("    {}: unlearned in {:.1f} s, proved in {:.1f} s, {} sent", client,
                             done.seconds.of("apply"), done.seconds.of("prove"), format_size(done.proof_bytes)));
  }
  return Done{};
}

Status settle_clients(DemoRun& run) {
  for (const std::string& client : run.settings.clients) {
    ZKAPEX_CHECK(settle({.client = run.files.state(client), .accepted = true, .window = {}, .proof = {}}));
  }
  run.tell.say("    the clients hear of it, and keep nothing of the state before the window");
  return Done{};
}

}  // namespace zkapex::demo
