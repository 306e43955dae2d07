// The provider's part of the demo: deployment, mask, verdicts.
#include "attestation/batch.h"
#include "attestation/inputs.h"
#include "cli/demo_run.h"
#include "cli/work.h"
#include "learning/model_files.h"
#include "learning/shuffle.h"

namespace zkapex::cli {

namespace {

constexpr const char* kWindow = "demo";

std::vector<Submission> submissions_in(const DemoRun& run) {
  std::vector<Submission> out;
  for (const std::string& client : run.settings.clients) {
    const Path folder = run.files.inbox(client);
    out.push_back({folder / "registration.zka", folder / "proof.zka", {}});
  }
  return out;
}

}  // namespace

Status publish_deployment(DemoRun& run) {
  run.tell.step("provider", "publishes what all agree on: which weights, blocks, certified error");
  ZKAPEX_TRY(const Deployment deployment,
             vit_deployment(run.files.original() / "model.safetensors", run.settings.unlearning()));
  ZKAPEX_CHECK(write_file(run.files.deployment(), deployment.serialize()));
  describe(deployment, run.report["deployment"]);
  run.tell.say(fmt::format("    {} weights in {} blocks of {}, certified error {}", deployment.layout().coordinates(),
                           deployment.layout().blocks(), run.settings.block, run.settings.error));
  return Done{};
}

Status publish_mask(DemoRun& run) {
  const DemoSettings& s = run.settings;
  run.tell.step("provider",
                fmt::format("finds the weights that '{}' leans on, in its own model, and publishes Ψ", s.forgotten()));
  const SecondsSince seconds;
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const auto model, load_model(run.files.original(), {.placement = run.placement}));
  ZKAPEX_TRY(const Samples forget, Samples::open(run.splits[0].sets.at("forget"), image_format(), model->config()));
  ZKAPEX_TRY(const Mask mask, cut_mask(*model, deployment, s.ratio, {},
                                       forget.batches(32, s.saliency_samples, derived_seed(s.seed, 300)), {}, kWindow));
  const Bytes bytes = mask.serialize();
  ZKAPEX_CHECK(write_file(run.files.mask(), bytes));
  run.report["mask"] = {
      {"window", mask.window}, {"ratio", s.ratio}, {"masked", mask.support.size()}, {"bytes", bytes.size()}};
  run.report["seconds"]["saliency"] = seconds();
  run.tell.say(fmt::format("    {} of {} weights: {} bytes, {:.0f} s", mask.support.size(),
                           deployment.layout().coordinates(), bytes.size(), seconds()));
  return Done{};
}

Status verify_clients(DemoRun& run) {
  run.tell.step("provider", "verifies what both clients sent, in one batch");
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const Mask mask, zkapex::read_mask(run.files.mask(), deployment));
  const std::vector<Submission> submissions = submissions_in(run);
  auto& out = run.report["verification"];
  // A registration is verified once; later windows are checked alone.
  for (const bool registered_before : {false, true}) {
    const SecondsSince seconds;
    ZKAPEX_TRY(const std::vector<Judgement> judgements,
               judge(deployment, mask, submissions,
                     {.require_certificate = true, .assume_registered = registered_before}, run.work));
    out[registered_before ? "windows_seconds" : "all_seconds"] = seconds();
    for (size_t k = 0; k < judgements.size(); ++k) {
      if (judgements[k].rejection) {
        return error("{} was honest, but its proof was rejected ({}): {}", run.settings.clients[k],
                     name(judgements[k].rejection->reason), judgements[k].rejection->detail);
      }
      run.client_report(k)["verdict"] = "accepted";
      if (!registered_before) run.tell.say(fmt::format("    {}: accepted", run.settings.clients[k]));
    }
  }
  out["clients"] = submissions.size();
  run.tell.say(fmt::format("    registrations and windows {:.2f} s, windows alone {:.2f} s",
                           out["all_seconds"].get<double>(), out["windows_seconds"].get<double>()));
  return Done{};
}

}  // namespace zkapex::cli
