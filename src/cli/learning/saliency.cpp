// zkapex saliency
#include <fmt/format.h>

#include "base/files.h"
#include "cli/learning/common.h"
#include "learning/mask_tensors.h"
#include "learning/saliency.h"
#include "learning/score_mask.h"
#include "learning/tensor_files.h"
#include "unlearning/ranking.h"

namespace zkapex::cli {

namespace {

struct SaliencyFlags {
  LearningFlags learning;
  std::string kind = "paper", ratio, window;
  SaliencyOptions options;
  int64_t batch = 32, limit = 0, retain_limit = 1024;
  std::vector<std::string> cover;
  path deployment, output;
};

Result<std::vector<Tensor>> compute_scores(Session& session, const std::vector<std::string>& covered,
                                           const SaliencyFlags& flags) {
  const SaliencyOptions& options = flags.options;
  const bool controls = options.kind == SaliencyKind::kMagnitude || options.kind == SaliencyKind::kRandom;
  if (controls) return saliency(*session.model, covered, options, {}, {});
  ZKAPEX_TRY(const Samples forget, session.samples("forget"));
  const auto batches = [&](const Samples& samples, int64_t limit, Progress& progress) {
    return counted(samples.batches(flags.batch, limit, options.seed), progress);
  };
  const auto progress_over = [&](int64_t samples) {
    return std::make_unique<Progress>(flags.learning.common.progress_style(), "saliency", "samples",
                                      static_cast<uint64_t>(samples));
  };
  if (options.kind == SaliencyKind::kPaper) {
    const auto progress = progress_over(used_samples(forget, flags.limit));
    return saliency(*session.model, covered, options, batches(forget, flags.limit, *progress), {});
  }
  ZKAPEX_TRY(const Samples retain, session.samples("retain"));
  const auto progress = progress_over(used_samples(forget, flags.limit) + used_samples(retain, flags.retain_limit));
  return saliency(*session.model, covered, options, batches(forget, flags.limit, *progress),
                  batches(retain, flags.retain_limit, *progress));
}

// Both say in a line what they wrote.
Result<std::string> write_mask(const SaliencyFlags& flags, Session& session, RunRecord& record) {
  ZKAPEX_TRY(const Decimal ratio, Decimal::parse(flags.ratio));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(flags.deployment));
  ZKAPEX_CHECK(record.add_input("deployment", flags.deployment));
  const uint64_t coordinates = deployment.layout().coordinates();
  ZKAPEX_TRY(const uint64_t count, mask_size(ratio, coordinates));
  ZKAPEX_TRY(const auto covered, covered_by(*session.model, deployment.layout()));
  ZKAPEX_TRY(const std::vector<Tensor> scores, compute_scores(session, covered, flags));
  ZKAPEX_TRY(const Mask mask, score_mask(scores, deployment, count, flags.window));
  ZKAPEX_CHECK(write_file(flags.output, mask.serialize(), {.overwrite = flags.learning.common.force}));
  const std::vector<std::string> warnings = mask_warnings(count, coordinates);
  print_warnings(warnings);
  if (!warnings.empty()) record.add("warnings", warnings);
  record.add("mask", {{"coordinates", coordinates}, {"masked", count}, {"digest", to_hex(mask.digest())}});
  return fmt::format("{}: {} of {} weights", flags.output.string(), count, coordinates);
}

Result<std::string> write_scores(const SaliencyFlags& flags, Session& session) {
  ZKAPEX_TRY(const auto covered, covered_weights(*session.model, flags.cover));
  ZKAPEX_TRY(const std::vector<Tensor> scores, compute_scores(session, covered, flags));
  std::vector<Parameter> tensors;
  for (size_t k = 0; k < covered.size(); ++k) tensors.push_back({covered[k], scores[k]});
  ZKAPEX_CHECK(write_tensors(flags.output, tensors));
  return fmt::format("{}: scores of {} tensors", flags.output.string(), covered.size());
}

Result<Outcome> run_saliency(const Command& command, SaliencyFlags flags) {
  ZKAPEX_CHECK(check_output(flags.output, flags.learning.common.force));
  if (!flags.ratio.empty() && (flags.deployment.empty() || flags.window.empty())) {
    return error("--ratio needs --deployment and --window");
  }
  ZKAPEX_TRY(flags.options.kind, saliency_kind(flags.kind));
  flags.options.seed = flags.learning.seed;
  ZKAPEX_TRY(Session session, open_session(flags.learning));
  ZKAPEX_TRY(RunRecord record, RunRecord::begin(command, flags.learning, session));
  ZKAPEX_TRY(const std::string written,
             flags.ratio.empty() ? write_scores(flags, session) : write_mask(flags, session, record));
  ZKAPEX_CHECK(record.add_output(flags.output));
  ZKAPEX_CHECK(record.write(flags.output.string() + ".json"));
  record.print(flags.learning.common.json, written);
  return Outcome::kDone;
}

}  // namespace

void add_saliency(Command parent, Action& action) {
  const auto flags = std::make_shared<SaliencyFlags>();
  const Command command = parent.add_command(kSaliency.name, kSaliency.about);
  flags->learning.offer_model(command);
  flags->learning.offer_splits(command);
  command.add_option("--kind", flags->kind, "paper, retain-ratio, magnitude or random").shows_default();
  command.add_option("--damping", flags->options.damping, "Added to the Fisher diagonal").shows_default();
  command.add_option("--retain-weight", flags->options.retain_weight, "Weight of the retained data in retain-ratio")
      .shows_default();
  command.add_option("--limit", flags->limit, "Samples of the forget set; 0 for all").shows_default();
  command.add_option("--retain-limit", flags->retain_limit, "Samples of the retained data in retain-ratio; 0 for all")
      .shows_default();
  command.add_option("--batch", flags->batch, "Samples at a time").positive().shows_default();
  command.add_option("--cover", flags->cover, "Patterns of the weights to score; the MLPs' matrices otherwise");
  command.add_option("--ratio", flags->ratio, "Write a mask of this share of the weights instead of scores");
  command.add_option("--deployment", flags->deployment, "Deployment that the mask is for").type_name("FILE");
  command.add_option("--window", flags->window, "Identifier of the mask's window").type_name("TEXT");
  command.add_option("-o,--output", flags->output, "Scores (safetensors) or mask").required().type_name("FILE");
  flags->learning.offer_runtime(command);
  command.footer(
      "Examples:\n"
      "  zkapex saliency --model original --splits splits.json -o scores.safetensors\n"
      "  zkapex saliency --model original --splits splits.json --ratio 0.04 --deployment deployment.zka \\\n"
      "    --window 2026-01 -o mask.zka");
  command.runs(action, [flags, command] { return run_saliency(command, *flags); });
}

}  // namespace zkapex::cli
