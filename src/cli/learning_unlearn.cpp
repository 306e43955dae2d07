// zkapex saliency, zkapex fisher, zkapex baseline
#include <fmt/format.h>

#include "base/files.h"
#include "base/random.h"
#include "cli/learning_common.h"
#include "learning/baselines.h"
#include "learning/fisher_store.h"
#include "learning/mask_tensors.h"
#include "learning/model_files.h"
#include "learning/runtime.h"
#include "learning/saliency.h"
#include "learning/tensor_files.h"
#include "unlearning/ranking.h"

namespace zkapex::cli {

namespace {

// Tells of every batch that goes by.
BatchSource counted(BatchSource batches, Progress& progress) {
  return [batches = std::move(batches), &progress](const BatchVisitor& visit) {
    return batches([&](const Batch& batch) -> Status {
      ZKAPEX_CHECK(visit(batch));
      progress.advance(static_cast<uint64_t>(batch.size()));
      return Done{};
    });
  };
}

int64_t used_samples(const Samples& samples, int64_t limit) {
  return limit > 0 ? std::min(limit, samples.size()) : samples.size();
}

struct SaliencyFlags {
  LearningFlags learning;
  std::string kind = "paper", ratio, window;
  SaliencyOptions options;
  int64_t batch = 32, limit = 0, retain_limit = 1024;
  std::vector<std::string> cover;
  path deployment, output;
};

Result<std::vector<Tensor>> compute_scores(const Session& session, const std::vector<std::string>& covered,
                                           const SaliencyFlags& flags) {
  SaliencyOptions options = flags.options;
  options.seed = flags.learning.seed;
  ZKAPEX_TRY(options.kind, saliency_kind(flags.kind));
  const bool controls = options.kind == SaliencyKind::kMagnitude || options.kind == SaliencyKind::kRandom;
  if (controls) return saliency(*session.model, covered, options, {}, {});
  ZKAPEX_TRY(const Samples forget, session.samples("forget"));
  Progress progress(flags.learning.common.progress_style(), "forget set", "samples",
                    static_cast<uint64_t>(used_samples(forget, flags.limit)));
  const BatchSource forget_batches = counted(forget.batches(flags.batch, flags.limit, options.seed), progress);
  if (options.kind == SaliencyKind::kPaper) return saliency(*session.model, covered, options, forget_batches, {});
  ZKAPEX_TRY(const Samples retain, session.samples("retain"));
  return saliency(*session.model, covered, options, forget_batches,
                  retain.batches(flags.batch, flags.retain_limit, options.seed));
}

// Scores in the order of the layout's coordinates.
ScoreSource score_source(const std::vector<Tensor>& scores) {
  return [&scores](const ScoreVisitor& visit) -> Status {
    for (const Tensor& score : scores) {
      const Tensor flat = score.detach().cpu().to(at::kDouble).contiguous();
      ZKAPEX_CHECK(visit({flat.data_ptr<double>(), static_cast<size_t>(flat.numel())}));
    }
    return Done{};
  };
}

Result<Verdict> write_mask(const SaliencyFlags& flags, Session& session, RunRecord& record) {
  ZKAPEX_TRY(const Decimal ratio, Decimal::parse(flags.ratio));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(flags.deployment));
  const uint64_t coordinates = deployment.layout().coordinates();
  ZKAPEX_TRY(const uint64_t count, mask_size(ratio, coordinates));
  ZKAPEX_TRY(const auto covered, covered_by(*session.model, deployment.layout()));
  ZKAPEX_TRY(const std::vector<Tensor> scores, compute_scores(session, covered, flags));
  Mask mask;
  mask.deployment = deployment.digest();
  mask.window = flags.window;
  ZKAPEX_TRY(mask.nonce, random_array<32>());
  ZKAPEX_TRY(mask.support, top_coordinates(score_source(scores), coordinates, count));
  ZKAPEX_CHECK(mask.check());
  ZKAPEX_CHECK(write_file(flags.output, mask.serialize(), {.overwrite = flags.learning.common.force}));
  record.add("mask", {{"coordinates", coordinates}, {"masked", count}, {"digest", to_hex(mask.digest())}});
  ZKAPEX_CHECK(record.write(flags.output.string() + ".json"));
  fmt::print("{}: {} of {} weights\n", flags.output.string(), count, coordinates);
  return Verdict::kDone;
}

Result<Verdict> run_saliency(const CLI::App& command, const SaliencyFlags& flags) {
  ZKAPEX_CHECK(check_output(flags.output, flags.learning.common.force));
  if (!flags.ratio.empty() && (flags.deployment.empty() || flags.window.empty())) {
    return error("--ratio needs --deployment and --window-id");
  }
  ZKAPEX_TRY(Session session, open_session(flags.learning));
  RunRecord record(command, session);
  ZKAPEX_CHECK(record.add_inputs(flags.learning));
  if (!flags.ratio.empty()) return write_mask(flags, session, record);
  ZKAPEX_TRY(const auto covered, covered_weights(*session.model, flags.cover));
  ZKAPEX_TRY(const std::vector<Tensor> scores, compute_scores(session, covered, flags));
  std::vector<Parameter> tensors;
  for (size_t k = 0; k < covered.size(); ++k) tensors.push_back({covered[k], scores[k]});
  ZKAPEX_CHECK(write_tensors(flags.output, tensors));
  ZKAPEX_CHECK(record.write(flags.output.string() + ".json"));
  fmt::print("{}: scores of {} weights\n", flags.output.string(), covered.size());
  return Verdict::kDone;
}

struct FisherFlags {
  LearningFlags learning;
  std::string set = "personal";
  int64_t samples = 512, batch = 32;
  double damping = 1e-2;
  bool absolute = false;
  path deployment, output;
};

Result<Verdict> run_fisher(const CLI::App& command, const FisherFlags& flags) {
  ZKAPEX_CHECK(check_output(flags.output, flags.learning.common.force));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(flags.deployment));
  ZKAPEX_TRY(Session session, open_session(flags.learning));
  ZKAPEX_TRY(const Samples samples, session.samples(flags.set));
  const LearningFlags& learning = flags.learning;
  FisherStoreOptions options;
  options.damping = {flags.absolute ? Damping::Kind::kAbsolute : Damping::Kind::kRelative, flags.damping};
  options.overwrite = learning.common.force;
  if (learning.common.memory) options.memory = static_cast<int64_t>(learning.common.memory->bytes());
  ThreadPool pool(learning.common.threads);
  Progress progress(learning.common.progress_style(), "fisher", "blocks", deployment.layout().blocks());
  ZKAPEX_TRY(const FisherStoreReport report,
             write_fisher_store(*session.model, samples.batches(flags.batch, flags.samples, learning.seed), deployment,
                                options, flags.output, pool, [&](uint64_t blocks) { progress.advance(blocks); }));
  RunRecord record(command, session);
  ZKAPEX_CHECK(record.add_inputs(learning));
  const StoreStatistics& s = report.factors;
  record.add("fisher", {{"samples", report.fisher.samples},
                        {"blocks", deployment.layout().blocks()},
                        {"resumed_at", report.resumed_at},
                        {"passes", report.fisher.passes},
                        {"rank_deficient", s.rank_deficient},
                        {"zero", s.zero},
                        {"damping_raised", s.raised},
                        {"largest_condition", s.largest_condition},
                        {"mean_log10_condition", s.mean_log10_condition},
                        {"accumulate_seconds", report.fisher.accumulate_seconds},
                        {"block_gflops", report.fisher.flops / 1e9}});
  ZKAPEX_CHECK(record.write(flags.output.string() + ".json"));
  fmt::print("{}: {} blocks from {} samples; {} rank deficient, {} with raised damping, condition up to {:.3g}\n",
             flags.output.string(), deployment.layout().blocks(), report.fisher.samples, s.rank_deficient, s.raised,
             s.largest_condition);
  return Verdict::kDone;
}

struct BaselineFlags {
  LearningFlags learning;
  std::string method;
  double rate = 0, alpha = 0;
  int64_t epochs = 0, forget_batch = 0, retain_batch = 0;
  double gamma = 0.99, temperature = 4;
  int64_t max_steps = 2;
  path deployment, mask, output;
};

void apply_given(const BaselineFlags& flags, BaselineOptions& options) {
  options.seed = flags.learning.seed;
  if (flags.rate > 0) options.rate = flags.rate;
  if (flags.epochs > 0) options.epochs = flags.epochs;
  if (flags.forget_batch > 0) options.forget_batch = flags.forget_batch;
  if (flags.retain_batch > 0) options.retain_batch = flags.retain_batch;
}

Status run_mask_only(const BaselineFlags& flags, Session& session) {
  if (flags.deployment.empty() || flags.mask.empty()) return error("mask-only needs --deployment and --mask");
  ZKAPEX_TRY(const Deployment deployment, read_deployment(flags.deployment));
  ZKAPEX_TRY(const Mask mask, read_mask(flags.mask));
  ZKAPEX_TRY(const auto covered, covered_by(*session.model, deployment.layout()));
  ZKAPEX_TRY(const auto masks, mask_tensors(mask, deployment));
  return mask_only(*session.model, covered, masks);
}

Status unlearn(const BaselineFlags& flags, Session& session) {
  if (flags.method == "mask-only") return run_mask_only(flags, session);
  ZKAPEX_TRY(const Samples forget, session.samples("forget"));
  BaselineOptions options;
  apply_given(flags, options);
  if (flags.method == "ga") return gradient_ascent(*session.model, forget, options);
  ZKAPEX_TRY(const Samples retain, session.samples("retain"));
  if (flags.method == "neggrad+")
    return neggrad_plus(*session.model, forget, retain, flags.alpha > 0 ? flags.alpha : 0.95, options);
  ScrubOptions scrub_options;
  apply_given(flags, scrub_options.base);
  scrub_options.gamma = flags.gamma;
  scrub_options.temperature = flags.temperature;
  scrub_options.max_steps = flags.max_steps;
  if (flags.alpha > 0) scrub_options.alpha = flags.alpha;
  return scrub(*session.model, forget, retain, scrub_options);
}

Result<Verdict> run_baseline(const CLI::App& command, const BaselineFlags& flags) {
  ZKAPEX_CHECK(check_output(flags.output / "model.safetensors", flags.learning.common.force));
  ZKAPEX_TRY(Session session, open_session(flags.learning));
  ZKAPEX_CHECK(unlearn(flags, session));
  ZKAPEX_CHECK(save_model(*session.model, flags.output, flags.learning.model));
  RunRecord record(command, session);
  ZKAPEX_CHECK(record.add_inputs(flags.learning));
  ZKAPEX_TRY(const nlohmann::json digests, model_digests(flags.output));
  record.add("outputs", digests);
  ZKAPEX_CHECK(record.write(flags.output / "baseline.json"));
  fmt::print("{}\n", flags.output.string());
  return Verdict::kDone;
}

}  // namespace

void add_saliency(CLI::App& parent, Action& action) {
  const auto flags = std::make_shared<SaliencyFlags>();
  CLI::App* command =
      parent.add_subcommand("saliency", "Score the weights that a forget set leans on, or cut a mask from the scores");
  flags->learning.offer_model(*command);
  flags->learning.offer_splits(*command);
  command->add_option("--kind", flags->kind, "paper, retain-ratio, magnitude or random")->capture_default_str();
  command->add_option("--damping", flags->options.damping, "Added to the Fisher diagonal")->capture_default_str();
  command->add_option("--retain-weight", flags->options.retain_weight, "Weight of the retained data in retain-ratio")
      ->capture_default_str();
  command->add_option("--limit", flags->limit, "Samples of the forget set; 0 for all")->capture_default_str();
  command->add_option("--batch", flags->batch, "Samples at a time")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--cover", flags->cover, "Patterns of the weights to score; the MLPs' matrices otherwise");
  command->add_option("--ratio", flags->ratio, "Write a mask of this share of the weights instead of scores");
  command->add_option("--deployment", flags->deployment, "Deployment that the mask is for")->type_name("FILE");
  command->add_option("--window-id", flags->window, "Identifier of the mask's window")->type_name("TEXT");
  command->add_option("-o,--output", flags->output, "Scores (safetensors) or mask")->required()->type_name("FILE");
  flags->learning.offer_runtime(*command);
  command->footer(
      "Examples:\n"
      "  zkapex saliency --model original --splits splits.json -o scores.safetensors\n"
      "  zkapex saliency --model original --splits splits.json --ratio 0.04 --deployment deployment.zka \\\n"
      "    --window-id 2026-01 -o mask.zka");
  command->callback(
      [flags, command, &action] { action = [flags, command] { return run_saliency(*command, *flags); }; });
}

void add_fisher(CLI::App& parent, Action& action) {
  const auto flags = std::make_shared<FisherFlags>();
  CLI::App* command = parent.add_subcommand("fisher", "Write the curvature store of a personal model");
  flags->learning.offer_model(*command);
  flags->learning.offer_splits(*command);
  command->add_option("--set", flags->set, "Set whose gradients are taken")->capture_default_str();
  command->add_option("--samples", flags->samples, "Samples to take, by --seed; 0 for all")->capture_default_str();
  command->add_option("--batch", flags->batch, "Samples at a time")->check(CLI::PositiveNumber)->capture_default_str();
  command->add_option("--damping", flags->damping, "Damping, as a share of each block's mean diagonal")
      ->capture_default_str();
  command->add_flag("--absolute-damping", flags->absolute, "--damping is absolute");
  command->add_option("--deployment", flags->deployment, "Deployment: covered weights, block size, bits")
      ->required()
      ->type_name("FILE");
  command->add_option("-o,--output", flags->output, "Curvature store")->required()->type_name("FILE");
  flags->learning.common.offer_memory(*command);
  flags->learning.offer_runtime(*command);
  command->footer(
      "A stopped run goes on where it was when started again.\n\n"
      "Examples:\n"
      "  zkapex fisher --model personal --splits splits.json --deployment deployment.zka --samples 512 -o "
      "curvature.zka");
  command->callback([flags, command, &action] { action = [flags, command] { return run_fisher(*command, *flags); }; });
}

void add_baseline(CLI::App& parent, Action& action) {
  const auto flags = std::make_shared<BaselineFlags>();
  CLI::App* command = parent.add_subcommand("baseline", "Unlearn by another method, for comparison");
  command->add_option("method", flags->method, "mask-only, ga, neggrad+ or scrub")
      ->required()
      ->check(CLI::IsMember({"mask-only", "ga", "neggrad+", "scrub"}));
  flags->learning.offer_model(*command);
  flags->learning.offer_splits(*command);
  command->add_option("--rate", flags->rate, "Learning rate; otherwise as published")->check(CLI::PositiveNumber);
  command->add_option("--epochs", flags->epochs, "Epochs; otherwise as published")->check(CLI::PositiveNumber);
  command->add_option("--forget-batch", flags->forget_batch, "Samples of the forget set per step")
      ->check(CLI::PositiveNumber);
  command->add_option("--retain-batch", flags->retain_batch, "Retained samples per step")->check(CLI::PositiveNumber);
  command
      ->add_option("--alpha", flags->alpha,
                   "neggrad+: weight of the retained data (0.95); scrub: of the distance (0.001)")
      ->check(CLI::PositiveNumber);
  command->add_option("--gamma", flags->gamma, "scrub: weight of the cross entropy")->capture_default_str();
  command->add_option("--temperature", flags->temperature, "scrub: temperature of the distance")->capture_default_str();
  command->add_option("--msteps", flags->max_steps, "scrub: epochs that begin on the forget set")
      ->capture_default_str();
  command->add_option("--deployment", flags->deployment, "mask-only: deployment of the mask")->type_name("FILE");
  command->add_option("--mask", flags->mask, "mask-only: the mask")->type_name("FILE");
  command->add_option("-o,--output", flags->output, "Directory of the new model")->required()->type_name("DIR");
  flags->learning.offer_runtime(*command);
  command->footer(
      "Exact unlearning is two commands: zkapex train --set retain, then zkapex personalize.\n\n"
      "Examples:\n"
      "  zkapex baseline ga --model personal --splits splits.json -o unlearned-ga\n"
      "  zkapex baseline scrub --model personal --splits splits.json --epochs 1 --msteps 1 -o unlearned-scrub");
  command->callback(
      [flags, command, &action] { action = [flags, command] { return run_baseline(*command, *flags); }; });
}

}  // namespace zkapex::cli
