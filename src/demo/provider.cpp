// The provider's part of the demo: deployment, request, verdicts.
#include "attestation/inputs.h"
#include "base/stopwatch.h"
#include "data/shuffle.h"
#include "demo/run.h"
#include "experiments/seeds.h"
#include "learning/model_files.h"
#include "parties/admission.h"
#include "parties/base_model.h"
#include "parties/describe.h"
#include "parties/inbox.h"
#include "parties/judge.h"
#include "parties/ledger.h"

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

Status publish_request(DemoRun& run) {
  const DemoSettings& s = run.settings;
  run.tell.step("provider",
                fmt::format("rehearses on clients that it imagines how {} can be forgotten, and publishes Ψ: the "
                            "weights that go, and where the others are drawn",
                            s.forgotten()));
  const Stopwatch watch;
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const auto model, load_model(run.files.original(), {.placement = run.placement}));
  const auto open = [&](const char* set) {
    return Samples::open(run.splits[0].sets.at(set), image_format(), model->config());
  };
  ZKAPEX_TRY(Samples forget, open("forget"));
  ZKAPEX_TRY(Samples retain, open("retain"));
  const RehearsalData data{std::move(forget), std::move(retain), {}};
  ZKAPEX_TRY(const Mask mask,
             cut_mask(*model, deployment, s.ratio, {},
                      data.forget.batches(32, s.saliency_samples, derived_seed(s.seed, kSaliency)), {}, kWindow));
  const InputFormat format = image_format();
  SimulationOptions options = s.simulation;
  options.damping.value = s.damping;
  options.seed = derived_seed(s.seed, kRehearsal);
  RehearsalPlan plan = s.rehearsal;
  plan.options.seed = options.seed;
  const Simulation simulation{.original = *model,
                              .retain = run.splits[0].sets.at("retain"),
                              .format = format,
                              .deployment = deployment,
                              .masked = mask.support,
                              .pull = s.pull,
                              .options = options,
                              .folder = run.files.rehearsal(),
                              .pool = *run.work.pool,
                              .progress = run.work.progress};
  ZKAPEX_CHECK(make_folder(run.files.rehearsal()));
  ZKAPEX_TRY(const RehearsedRequest made, rehearse_request(simulation, mask, data, plan));
  ZKAPEX_CHECK(remove_tree(run.files.rehearsal()));
  const Bytes bytes = made.request.serialize();
  ZKAPEX_TRY(const Ledger ledger, Ledger::open(run.files.ledger()));
  ZKAPEX_CHECK(ledger.publish(made.request));
  ZKAPEX_CHECK(write_file(run.files.mask(), bytes));
  run.report["request"] = {
      {"window", mask.window}, {"ratio", s.ratio}, {"masked", mask.support.size()}, {"bytes", bytes.size()}};
  describe(made.request.guidance, run.report["request"]);
  for (const ClientTrial& trial : made.trials) {
    run.report["request"]["rehearsal"].push_back({{"client", trial.client},
                                                  {"forget_before", trial.forget_before.accuracy},
                                                  {"forget_after", trial.forget_after.accuracy},
                                                  {"retain_before", trial.kept_before.accuracy},
                                                  {"retain_after", trial.kept_after.accuracy}});
  }
  run.report["seconds"]["rehearsal"] = watch.seconds();
  run.tell.say(fmt::format("    {} of {} weights go, a guide for the others: {} bytes, {:.0f} s", mask.support.size(),
                           deployment.layout().coordinates(), bytes.size(), watch.seconds()));
  return Done{};
}

Status admit_clients(DemoRun& run) {
  run.tell.step("provider", "verifies both registrations and records them, before it says what is to be forgotten");
  ZKAPEX_TRY(const Deployment deployment, zkapex::read_deployment(run.files.deployment()));
  ZKAPEX_TRY(const Ledger ledger, Ledger::open_or_create(run.files.ledger(), deployment));
  ZKAPEX_TRY(const size_t longest, longest_registration_file(deployment));
  const Stopwatch watch;
  ZKAPEX_TRY(const BaseRows base, open_base(run.files.original() / "model.safetensors", deployment, *run.work.pool));
  for (const std::string& client : run.settings.clients) {
    ZKAPEX_TRY(const Admission admission,
               admit(ledger, &base, read_handed_in(run.files.inbox(client) / "registration.zka", longest), run.work));
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
