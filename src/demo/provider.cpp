// The provider's part of the demo: deployment, mask, verdicts.
#include "attestation/inputs.h"
#include "base/stopwatch.h"
#include "data/shuffle.h"
#include "demo/run.h"
#include "experiments/seeds.h"
#include "learning/model_files.h"
#include "parties/admission.h"
#include "parties/describe.h"
#include "parties/inbox.h"
#include "parties/judge.h"

namespace zkapex::demo {

namespace {

constexpr const char* kWindow = "demo";

std::string rejection_text(const Rejection& rejection) {
  return fmt::format("({}): {}", name(rejection.reason), rejection.detail);
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
  const Stopwatch watch;
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const auto model, load_model(run.files.original(), {.placement = run.placement}));
  ZKAPEX_TRY(const Samples forget, Samples::open(run.splits[0].sets.at("forget"), image_format(), model->config()));
  ZKAPEX_TRY(const Mask mask,
             cut_mask(*model, deployment, s.ratio, {},
                      forget.batches(32, s.saliency_samples, derived_seed(s.seed, kSaliency)), {}, kWindow));
  const Bytes bytes = mask.serialize();
  ZKAPEX_CHECK(write_file(run.files.mask(), bytes));
  run.report["mask"] = {
      {"window", mask.window}, {"ratio", s.ratio}, {"masked", mask.support.size()}, {"bytes", bytes.size()}};
  run.report["seconds"]["saliency"] = watch.seconds();
  run.tell.say(fmt::format("    {} of {} weights: {} bytes, {:.0f} s", mask.support.size(),
                           deployment.layout().coordinates(), bytes.size(), watch.seconds()));
  return Done{};
}

Status admit_clients(DemoRun& run) {
  run.tell.step("provider", "verifies both registrations and records them, before it says what is to be forgotten");
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const Ledger ledger, Ledger::open_or_create(run.files.ledger(), deployment));
  ZKAPEX_TRY(const size_t longest, longest_registration_file(deployment));
  const Stopwatch watch;
  for (const std::string& client : run.settings.clients) {
    ZKAPEX_TRY(const Admission admission,
               admit(ledger, read_handed_in(run.files.inbox(client) / "registration.zka", longest), run.work));
    if (admission.rejection)
      return error("{} was honest, but its registration was rejected {}", client, rejection_text(*admission.rejection));
  }
  run.report["verification"]["registrations_seconds"] = watch.seconds();
  run.tell.say(fmt::format("    {} registrations in {:.2f} s", run.settings.clients.size(), watch.seconds()));
  return Done{};
}

Status verify_clients(DemoRun& run) {
  run.tell.step("provider", "verifies what both clients sent, in one batch");
  ZKAPEX_TRY(const Ledger ledger, Ledger::open(run.files.ledger()));
  ZKAPEX_TRY(const Mask mask, zkapex::read_mask(run.files.mask(), ledger.deployment()));
  ZKAPEX_TRY(const size_t longest, longest_proof_file(ledger.deployment(), mask));
  std::vector<Submission> submissions;
  for (const std::string& client : run.settings.clients) {
    submissions.push_back(
        [path = run.files.inbox(client) / "proof.zka", longest] { return read_handed_in(path, longest); });
  }
  const Stopwatch watch;
  ZKAPEX_TRY(const std::vector<Judgement> judgements, judge(ledger, mask, submissions, run.work));
  auto& out = run.report["verification"];
  out["windows_seconds"] = watch.seconds();
  out["clients"] = submissions.size();
  for (size_t k = 0; k < judgements.size(); ++k) {
    const std::string& client = run.settings.clients[k];
    if (judgements[k].rejection)
      return error("{} was honest, but its proof was rejected {}", client, rejection_text(*judgements[k].rejection));
    run.client_report(k)["verdict"] = "accepted";
    run.tell.say(fmt::format("    {}: accepted", client));
  }
  run.tell.say(fmt::format("    {:.2f} s", out["windows_seconds"].get<double>()));
  std::error_code failed;
  std::filesystem::copy(run.files.ledger(), run.files.earlier_ledger(), std::filesystem::copy_options::recursive,
                        failed);
  if (failed) return error("cannot copy the ledger: {}", failed.message());
  return record(ledger, mask, judgements);
}

}  // namespace zkapex::demo
