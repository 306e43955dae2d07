// zkapex rehearse
#include <fmt/format.h>

#include "base/files.h"
#include "base/memory.h"
#include "base/random.h"
#include "cli/learning/common.h"
#include "learning/mask_tensors.h"
#include "learning/rehearsed_request.h"
#include "learning/saliency.h"
#include "learning/score_mask.h"
#include "parties/client_window.h"
#include "parties/describe.h"
#include "tables/folders.h"
#include "unlearning/ranking.h"

namespace zkapex::cli {

namespace {

struct RehearseFlags {
  LearningFlags learning;
  std::string ratio = "0.01", window, forgetting;
  uint64_t pull = Guidance::kUsualPull;
  SimulationOptions simulation;
  RehearsalPlan plan;
  std::optional<double> rate, weight;  // otherwise what the kind of forgetting asks for
  int64_t saliency_samples = 1024;
  path deployment, after, output;
};

// The weights of θ0 that D_f leans on.
Result<Mask> most_salient(const RehearseFlags& flags, const Deployment& deployment, Session& session,
                          const Samples& forget) {
  ZKAPEX_TRY(const Decimal ratio, Decimal::parse(flags.ratio));
  ZKAPEX_TRY(const uint64_t count, mask_size(ratio, deployment.layout().coordinates()));
  ZKAPEX_TRY(const auto covered, covered_by(*session.model, deployment.layout()));
  Progress progress(flags.learning.common.progress_style(), "saliency", "samples",
                    static_cast<uint64_t>(used_samples(forget, flags.saliency_samples)));
  ZKAPEX_TRY(const std::vector<Tensor> scores,
             saliency(*session.model, covered, {},
                      counted(forget.batches(32, flags.saliency_samples, flags.learning.seed), progress), {}));
  return score_mask(scores, deployment, count, flags.window);
}

// Ψ without its guide: what is removed now, and what earlier windows removed.
Result<Mask> cut_request(const RehearseFlags& flags, const Deployment& deployment, Session& session,
                         const Samples& forget) {
  Mask mask;
  if (flags.ratio == "0") {
    mask.deployment = deployment.digest();
    mask.window = flags.window;
    ZKAPEX_TRY(mask.nonce, random_array<32>());
  } else {
    ZKAPEX_TRY(mask, most_salient(flags, deployment, session, forget));
  }
  if (!flags.after.empty()) {
    ZKAPEX_TRY(const Mask earlier, read_mask(flags.after, deployment));
    if (const Status done = mask.continue_from(earlier); !done) return done.error().within(flags.after.string());
  }
  return mask;
}

nlohmann::ordered_json described(const ClientTrial& trial) {
  const auto pair = [](const ClientTrial::Figures& f) {
    return nlohmann::ordered_json{{"accuracy", f.accuracy}, {"loss", f.loss}};
  };
  const FollowedRange range = range_of(trial.tensors);
  return {{"client", trial.client},
          {"forget", {{"before", pair(trial.forget_before)}, {"after", pair(trial.forget_after)}}},
          {"retain", {{"before", pair(trial.kept_before)}, {"after", pair(trial.kept_after)}}},
          {"least_progress", range.least_progress},
          {"most_distance", range.most_distance}};
}

std::string line_on(const ClientTrial& trial) {
  return fmt::format("\n  {:<10} forgotten data {:5.1f} % -> {:5.1f} %   retained data {:5.1f} % -> {:5.1f} %",
                     trial.client, 100 * trial.forget_before.accuracy, 100 * trial.forget_after.accuracy,
                     100 * trial.kept_before.accuracy, 100 * trial.kept_after.accuracy);
}

// What was not said, by what is to be forgotten.
Status complete(RehearseFlags& flags, const Splits& splits) {
  RehearsalPlan& plan = flags.plan;
  if (flags.forgetting.empty()) flags.forgetting = splits.forget.starts_with("class") ? "classes" : "samples";
  ZKAPEX_TRY(plan.options.forgetting, forgetting_named(flags.forgetting));
  const bool classes = plan.options.forgetting == Forgetting::kClasses;
  plan.options.rate = flags.rate.value_or(classes ? 1e-3 : 5e-4);
  plan.options.weight = flags.weight.value_or(classes ? 1 : 0.3);
  plan.options.seed = flags.simulation.seed = flags.learning.seed;
  ZKAPEX_TRY(const SampleSet retain, splits.get("retain"));
  if (plan.domains.empty()) plan.domains = default_domains(retain);
  for (const std::string& domain : plan.domains) {
    ZKAPEX_CHECK(check_domain(retain, domain));
  }
  return plan.options.check();
}

// What would only be found after minutes.
Status check_before(const RehearseFlags& flags, const Deployment& deployment) {
  const Layout& layout = deployment.layout();
  if (!flags.plan.guide_from.empty()) {
    ZKAPEX_TRY(const Checkpoint unlearned, Checkpoint::open(flags.plan.guide_from));
    if (const Status same = layout.check_covered(unlearned.tensors()); !same)
      return same.error().within(flags.plan.guide_from.string());
  }
  if (!flags.after.empty()) {
    ZKAPEX_TRY(const Mask earlier, read_mask(flags.after, deployment));
    Mask next;
    next.window = flags.window;
    if (const Status done = next.continue_from(earlier); !done) return done.error().within(flags.after.string());
  }
  const uint64_t clients = flags.plan.domains.size() + 1, needed = clients * GuidedMap::bytes(layout);
  if (flags.learning.device == "cpu" && needed > physical_memory())
    return error("{} clients would take {} of memory: give fewer --domains, or a deployment that covers less", clients,
                 format_size(needed));
  return Done{};
}

Result<RehearsalData> open_data(Session& session, Forgetting forgetting) {
  ZKAPEX_TRY(Samples forget, session.samples("forget"));
  ZKAPEX_TRY(Samples retain, session.samples("retain"));
  RehearsalData out{std::move(forget), std::move(retain), {}};
  if (forgetting == Forgetting::kSamples) {
    ZKAPEX_TRY(out.held_out, session.samples("validation"));
  }
  return out;
}

Result<RehearsedRequest> make_request(const RehearseFlags& flags, const Deployment& deployment, Session& session,
                                      const path& folder) {
  ZKAPEX_TRY(const RehearsalData data, open_data(session, flags.plan.options.forgetting));
  ZKAPEX_TRY(const Mask mask, cut_request(flags, deployment, session, data.forget));
  ThreadPool pool(flags.learning.common.threads);
  const Simulation simulation{.original = *session.model,
                              .retain = session.splits.sets.at("retain"),
                              .format = session.format,
                              .deployment = deployment,
                              .masked = mask.support,
                              .pull = flags.pull,
                              .options = flags.simulation,
                              .folder = folder,
                              .pool = pool,
                              .progress = flags.learning.common.progress_style()};
  return rehearse_request(simulation, mask, data, flags.plan);
}

void tell(const RehearsedRequest& made, const RehearseFlags& flags, RunRecord& record, size_t bytes) {
  const Mask& request = made.request;
  nlohmann::ordered_json told = {
      {"digest", to_hex(request.digest())}, {"bytes", bytes}, {"masked", request.support.size()}};
  describe(request.guidance, told);
  record.add("request", std::move(told));
  auto trials = nlohmann::ordered_json::array();
  std::string lines = fmt::format("{}: {} weights removed, a guide for the others, {} bytes", flags.output.string(),
                                  request.support.size(), bytes);
  for (const ClientTrial& trial : made.trials) {
    trials.push_back(described(trial));
    lines += line_on(trial);
  }
  record.add("clients", std::move(trials));
  record.add("furthest", made.furthest);
  std::vector<std::string> warnings = request.loose();
  if (made.furthest > kMaxGuide.approximate())
    warnings.push_back(
        fmt::format("the guide draws a tensor by {:.2f} times the size of its weights, and clients refuse more than {} "
                    "unless they say otherwise: try a larger pull, fewer steps or a smaller rate or scale",
                    made.furthest, kMaxGuide.text()));
  if (!warnings.empty()) record.add("warnings", warnings);
  record.print(flags.learning.common.json, lines);
  print_warnings(warnings);
}

Result<Outcome> run_rehearse(const Command& command, RehearseFlags flags) {
  const LearningFlags& learning = flags.learning;
  ZKAPEX_CHECK(
      check_output(flags.output, learning.common.force, {flags.deployment, flags.after, flags.plan.guide_from}));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(flags.deployment));
  ZKAPEX_TRY(Session session, open_session(learning));
  ZKAPEX_CHECK(complete(flags, session.splits));
  ZKAPEX_CHECK(check_before(flags, deployment));
  ZKAPEX_TRY(RunRecord record, RunRecord::begin(command, learning, session));
  ZKAPEX_CHECK(record.add_input("deployment", flags.deployment));
  if (!flags.after.empty()) {
    ZKAPEX_CHECK(record.add_input("after", flags.after));
  }
  if (!flags.plan.guide_from.empty()) {
    ZKAPEX_CHECK(record.add_input("guide_from", flags.plan.guide_from));
  }
  const path folder = flags.output.string() + ".work", note = flags.output.string() + ".work.json";
  ZKAPEX_CHECK(record.claim(folder, note, learning.common.force));
  ZKAPEX_CHECK(make_folder(folder));
  ZKAPEX_TRY(const RehearsedRequest made, make_request(flags, deployment, session, folder));
  const Bytes bytes = made.request.serialize();
  ZKAPEX_CHECK(write_file(flags.output, bytes, {.overwrite = learning.common.force}));
  ZKAPEX_CHECK(record.add_output(flags.output));
  tell(made, flags, record, bytes.size());
  ZKAPEX_CHECK(record.write(flags.output.string() + ".json"));
  std::error_code ignored;
  std::filesystem::remove_all(folder, ignored);
  std::filesystem::remove(note, ignored);
  return Outcome::kDone;
}

}  // namespace

void add_rehearse(Command parent, Action& action) {
  const auto flags = std::make_shared<RehearseFlags>();
  const Command command = parent.add_command(kRehearse.name, kRehearse.about);
  flags->learning.offer_model(command);
  flags->learning.offer_splits(command);
  command.add_option("--deployment", flags->deployment, "The deployment").required().type_name("FILE");
  command.add_option("--window", flags->window, "Name of the window, never used before").required();
  command.add_option("--after", flags->after, "The last window's request, whose mask this one will contain")
      .type_name("FILE");
  command.add_option("--ratio", flags->ratio, "How many weights are removed; 0 for none").shows_default();
  command.add_option("--pull", flags->pull, "t, how strongly clients are drawn").shows_default();
  command.add_option("--guide-from", flags->plan.guide_from, "Rehearse a checkpoint that another method has unlearned")
      .type_name("MODEL");
  command.add_option("--method", flags->plan.method, "The name of that method, for everybody to read: NegGrad+, NPO");
  command.add_option("--guide-scale", flags->plan.guide_scale, "What the way there is multiplied by").shows_default();
  command.add_option("--forgetting", flags->forgetting, "classes or samples; by the split file otherwise");
  command.add_option("--domains", flags->plan.domains,
                     "What simulated clients are fine-tuned on: styles, or parts of files");
  command.add_option("--client-epochs", flags->simulation.training.epochs, "Epochs of their training").shows_default();
  command.add_option("--client-rate", flags->simulation.training.rate, "Its learning rate").shows_default();
  command.add_option("--fisher-samples", flags->simulation.fisher_samples, "Samples of their curvature")
      .shows_default();
  command.add_option("--damping", flags->simulation.damping.value, "Its damping").shows_default();
  command.add_option("--steps", flags->plan.options.steps, "Steps of the guide").positive().shows_default();
  command.add_option("--batch", flags->plan.options.batch, "Samples of a step, forgotten and retained each")
      .positive()
      .shows_default();
  command.add_option("--rate", flags->rate, "Its learning rate; 1e-3 for classes, 5e-4 for samples");
  command.add_option("--weight", flags->weight, "Forgetting against keeping; 1 for classes, 0.3 for samples");
  command.add_option("--checkpoint-every", flags->plan.options.checkpoint_every, "Steps after which it is kept")
      .positive()
      .shows_default();
  command.add_option("-o,--output", flags->output, "The request to write").required().type_name("FILE");
  flags->learning.offer_runtime(command);
  command.footer(
      "Makes a request that forgets: clients are imagined (the model fine-tuned on retained data in other styles), "
      "and\n"
      "a guide is learned that makes them lose the forgotten data and keep the rest, through the operator that real\n"
      "clients will apply. No client's data are needed. Then the request is tried on them: what each forgets and "
      "keeps\n"
      "is told, and the rules that clients are held to are set so that all of them pass with room to spare.\n\n"
      "--guide-from takes the way to a checkpoint that any other method has unlearned in place of the learned "
      "guide.\n\n"
      "A stopped run goes on where it was when started again; OUTPUT.work keeps what it needs until then.\n\n"
      "Examples:\n"
      "  zkapex rehearse --model original --splits splits.json --deployment deployment.zka --window 2026-11 -o "
      "psi.zka\n"
      "  zkapex rehearse ... --guide-from npo/model.safetensors --guide-scale 2 -o psi.zka");
  command.runs(action, [flags, command] { return run_rehearse(command, *flags); });
}

}  // namespace zkapex::cli
