// zkapex baseline
#include <fmt/format.h>

#include <algorithm>

#include "cli/learning/common.h"
#include "learning/baselines.h"
#include "learning/mask_tensors.h"
#include "learning/model_files.h"

namespace zkapex::cli {

namespace {

struct BaselineFlags {
  LearningFlags learning;
  std::string method;
  double rate = 0, alpha = 0;
  int64_t epochs = 0, forget_batch = 0, retain_batch = 0;
  double gamma = 0.99, temperature = 4;
  int64_t max_steps = 2;
  path deployment, mask, output;

  [[nodiscard]] path state() const { return output / "training.safetensors"; }
};

// What was given replaces what was published.
BaselineOptions options_of(const BaselineFlags& flags, BaselineOptions options) {
  options.seed = flags.learning.seed;
  if (flags.rate > 0) options.rate = flags.rate;
  if (flags.epochs > 0) options.epochs = flags.epochs;
  if (flags.forget_batch > 0) options.forget_batch = flags.forget_batch;
  if (flags.retain_batch > 0) options.retain_batch = flags.retain_batch;
  options.checkpoint = flags.state();
  return options;
}

Status run_mask_only(const BaselineFlags& flags, Session& session, RunRecord& record) {
  ZKAPEX_TRY(const Deployment deployment, read_deployment(flags.deployment));
  ZKAPEX_TRY(const Mask mask, read_mask(flags.mask, deployment));
  ZKAPEX_CHECK(record.add_input("deployment", flags.deployment));
  ZKAPEX_CHECK(record.add_input("mask", flags.mask));
  ZKAPEX_TRY(const auto covered, covered_by(*session.model, deployment.layout()));
  ZKAPEX_TRY(const auto masks, mask_tensors(mask, deployment));
  return mask_only(*session.model, covered, masks);
}

// Progress over `total` samples, told by `options`.
std::unique_ptr<Progress> follow(const BaselineFlags& flags, BaselineOptions& options, int64_t total) {
  auto progress = std::make_unique<Progress>(flags.learning.common.progress_style(), flags.method, "samples",
                                             static_cast<uint64_t>(total));
  options.advance = [&p = *progress](int64_t samples) { p.advance(static_cast<uint64_t>(samples)); };
  return progress;
}

Status run_training_method(const BaselineFlags& flags, Session& session) {
  ZKAPEX_TRY(const Samples forget, session.samples("forget"));
  if (flags.method == "ga") {
    BaselineOptions options = options_of(flags, {});
    const auto progress = follow(flags, options, options.epochs * forget.size());
    return gradient_ascent(*session.model, forget, options);
  }
  ZKAPEX_TRY(const Samples retain, session.samples("retain"));
  if (flags.method == "neggrad+") {
    BaselineOptions options = options_of(flags, {});
    const auto progress = follow(flags, options, options.epochs * retain.size());
    return neggrad_plus(*session.model, forget, retain, flags.alpha > 0 ? flags.alpha : 0.95, options);
  }
  ScrubOptions options;
  options.base = options_of(flags, options.base);
  options.gamma = flags.gamma;
  options.temperature = flags.temperature;
  options.max_steps = flags.max_steps;
  if (flags.alpha > 0) options.alpha = flags.alpha;
  const int64_t away = std::min(options.max_steps, options.base.epochs);
  const auto progress = follow(flags, options.base, options.base.epochs * retain.size() + away * forget.size());
  return scrub(*session.model, forget, retain, options);
}

Result<Outcome> run_baseline(const Command& command, const BaselineFlags& flags) {
  ZKAPEX_CHECK(check_output(flags.output / "model.safetensors", flags.learning.common.force));
  const bool by_mask = flags.method == "mask-only";
  if (by_mask && (flags.deployment.empty() || flags.mask.empty()))
    return error("mask-only needs --deployment and --mask");
  ZKAPEX_TRY(Session session, open_session(flags.learning));
  ZKAPEX_TRY(RunRecord record, RunRecord::begin(command, flags.learning, session));
  const path note = flags.output / "training.json";
  std::error_code code;
  if (by_mask) {
    ZKAPEX_CHECK(run_mask_only(flags, session, record));
  } else {
    std::filesystem::create_directories(flags.output, code);
    if (code) return error("{} cannot be made: {}", flags.output.string(), code.message());
    ZKAPEX_CHECK(record.claim(flags.state(), note, flags.learning.common.force));
    ZKAPEX_CHECK(run_training_method(flags, session));
  }
  ZKAPEX_CHECK(save_model(*session.model, flags.output, flags.learning.model));
  std::filesystem::remove(flags.state(), code);
  std::filesystem::remove(note, code);
  ZKAPEX_CHECK(record.add_output(flags.output));
  ZKAPEX_CHECK(record.write(flags.output / "baseline.json"));
  record.print(flags.learning.common.json, flags.output.string());
  return Outcome::kDone;
}

}  // namespace

void add_baseline(Command parent, Action& action) {
  const auto flags = std::make_shared<BaselineFlags>();
  const Command command = parent.add_command(kBaseline.name, kBaseline.about);
  command.add_option("method", flags->method, "mask-only, ga, neggrad+ or scrub")
      .required()
      .one_of_listed({"mask-only", "ga", "neggrad+", "scrub"});
  flags->learning.offer_model(command);
  flags->learning.offer_splits(command);
  command.add_option("--rate", flags->rate, "Learning rate; otherwise as published").positive();
  command.add_option("--epochs", flags->epochs, "Epochs; otherwise as published").positive();
  command.add_option("--forget-batch", flags->forget_batch, "Samples of the forget set per step").positive();
  command.add_option("--retain-batch", flags->retain_batch, "Retained samples per step").positive();
  command
      .add_option("--alpha", flags->alpha,
                  "neggrad+: weight of the retained data (0.95); scrub: of the distance (0.001)")
      .positive();
  command.add_option("--gamma", flags->gamma, "scrub: weight of the cross entropy").shows_default();
  command.add_option("--temperature", flags->temperature, "scrub: temperature of the distance").shows_default();
  command.add_option("--msteps", flags->max_steps, "scrub: epochs that begin on the forget set").shows_default();
  command.add_option("--deployment", flags->deployment, "mask-only: deployment of the mask").type_name("FILE");
  command.add_option("--mask", flags->mask, "mask-only: the mask").type_name("FILE");
  command.add_option("-o,--output", flags->output, "Directory of the new model").required().type_name("DIR");
  flags->learning.offer_runtime(command);
  command.footer(
      "Stopped runs go on after the last pass over a set when started again with the same arguments.\n"
      "Exact unlearning is two commands: zkapex train --set retain, then zkapex personalize.\n\n"
      "Examples:\n"
      "  zkapex baseline ga --model personal --splits splits.json -o unlearned-ga\n"
      "  zkapex baseline scrub --model personal --splits splits.json --epochs 1 --msteps 1 -o unlearned-scrub");
  command.runs(action, [flags, command] { return run_baseline(command, *flags); });
}

}  // namespace zkapex::cli
