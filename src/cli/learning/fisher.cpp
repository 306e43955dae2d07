// zkapex fisher
#include <fmt/format.h>

#include "cli/learning/common.h"
#include "learning/fisher_store.h"

namespace zkapex::cli {

namespace {

struct FisherFlags {
  LearningFlags learning;
  std::string set = "personal";
  int64_t samples = 512, batch = 32;
  double damping = Damping().value;
  bool absolute = false;
  path deployment, output;
};

// The bars have ended when this returns: nothing is printed behind them.
Result<FisherStoreReport> write_store(Model& model, const Samples& samples, const Deployment& deployment,
                                      const FisherStoreOptions& options, const FisherFlags& flags) {
  const ProgressStyle style = flags.learning.common.progress_style();
  ThreadPool pool(flags.learning.common.threads);
  // Blocks are finished at the end of a pass over the samples: each pass tells of itself.
  Progress progress(style, "fisher", "blocks", deployment.layout().blocks());
  const BatchSource batches = samples.batches(flags.batch, flags.samples, flags.learning.seed);
  const BatchSource source = [&](const BatchVisitor& visit) {
    Progress pass(style, "gradients", "samples", static_cast<uint64_t>(used_samples(samples, flags.samples)));
    return counted(batches, pass)(visit);
  };
  return write_fisher_store(model, source, deployment, options, flags.output, pool,
                            [&](uint64_t blocks) { progress.advance(blocks); });
}

Result<Outcome> run_fisher(const Command& command, const FisherFlags& flags) {
  ZKAPEX_CHECK(check_output(flags.output, flags.learning.common.force));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(flags.deployment));
  ZKAPEX_TRY(Session session, open_session(flags.learning));
  ZKAPEX_TRY(const Samples samples, session.samples(flags.set));
  const LearningFlags& learning = flags.learning;
  FisherStoreOptions options;
  options.damping = {flags.absolute ? Damping::Kind::kAbsolute : Damping::Kind::kRelative, flags.damping};
  options.overwrite = learning.common.force;
  if (learning.common.memory) options.memory = static_cast<int64_t>(learning.common.memory->bytes());
  ZKAPEX_TRY(RunRecord record, RunRecord::begin(command, learning, session));
  ZKAPEX_CHECK(record.add_input("deployment", flags.deployment));
  options.run = record.run();
  ZKAPEX_TRY(const FisherStoreReport report, write_store(*session.model, samples, deployment, options, flags));
  ZKAPEX_CHECK(record.add_output(flags.output));
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
  record.print(
      flags.learning.common.json,
      fmt::format("{}: {} blocks from {} samples; {} rank deficient, {} with raised damping, condition up to {:.3g}",
                  flags.output.string(), deployment.layout().blocks(), report.fisher.samples, s.rank_deficient,
                  s.raised, s.largest_condition));
  return Outcome::kDone;
}

}  // namespace

void add_fisher(Command parent, Action& action) {
  const auto flags = std::make_shared<FisherFlags>();
  const Command command = parent.add_command(kFisher.name, kFisher.about);
  flags->learning.offer_model(command);
  flags->learning.offer_splits(command);
  command.add_option("--set", flags->set, "Set whose gradients are taken").shows_default();
  command.add_option("--samples", flags->samples, "Samples to take, by --seed; 0 for all").shows_default();
  command.add_option("--batch", flags->batch, "Samples at a time").positive().shows_default();
  command.add_option("--damping", flags->damping, "Damping, as a share of each block's mean diagonal").shows_default();
  command.add_flag("--absolute-damping", flags->absolute, "--damping is absolute");
  command.add_option("--deployment", flags->deployment, "Deployment: covered weights, block size, bits")
      .required()
      .type_name("FILE");
  command.add_option("-o,--output", flags->output, "Curvature store").required().type_name("FILE");
  flags->learning.common.offer_memory(command);
  flags->learning.offer_runtime(command);
  command.footer(
      "A stopped run goes on where it was when started again.\n\n"
      "Examples:\n"
      "  zkapex fisher --model personal --splits splits.json --deployment deployment.zka --samples 512 -o "
      "curvature.zka");
  command.runs(action, [flags, command] { return run_fisher(command, *flags); });
}

}  // namespace zkapex::cli
