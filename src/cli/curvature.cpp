// zkapex curvature: a client's curvature store, from Fisher information.
#include <fmt/format.h>

#include <memory>

#include "attestation/inputs.h"
#include "base/hardening.h"
#include "cli/work.h"
#include "curvature/build.h"
#include "unlearning/apply.h"

namespace zkapex::cli {

namespace {

struct CurvatureOptions {
  CommonFlags common;
  Path deployment, model, fisher, out;
  std::optional<double> relative, absolute;
};

Damping damping_of(const CurvatureOptions& options) {
  if (options.absolute) return {Damping::Kind::kAbsolute, *options.absolute};
  Damping out;
  if (options.relative) out.value = *options.relative;
  return out;
}

// Each thread makes several blocks at a time, in buffers of its own.
Result<unsigned> threads_that_fit(const CommonFlags& flags, uint64_t block) {
  if (!flags.memory) return flags.threads;
  const unsigned wanted = ThreadPool(flags.threads).size();
  const uint64_t a_thread = 4 * (3 * block * block * sizeof(double) + 8 * triangle_size(block) * sizeof(int16_t));
  ZKAPEX_TRY(const size_t fit, flags.memory->items_that_fit(a_thread));
  return static_cast<unsigned>(std::min<size_t>(wanted, fit));
}

// All that decides the factors, beside what the store's header says.
std::string run_of(const Checkpoint& fisher, const Damping& damping, ThreadPool& pool, ProgressStyle style) {
  const auto& tensors = fisher.tensors();
  std::vector<std::string> digests(tensors.size());
  {
    uint64_t bytes = 0;
    for (const TensorView& tensor : tensors) bytes += tensor.data().size();
    Progress progress(style, "reading", "bytes", bytes);
    pool.for_each(tensors.size(), [&](size_t k) {
      digests[k] = to_hex(sha256(tensors[k].data()));
      progress.advance(tensors[k].data().size());
    });
  }
  nlohmann::ordered_json run;
  run["command"] = "curvature";
  run[damping.kind == Damping::Kind::kAbsolute ? "damping" : "relative_damping"] = damping.value;
  for (size_t k = 0; k < tensors.size(); ++k) {
    const std::string_view type = dtype_name(tensors[k].dtype());
    run["fisher"][tensors[k].name()] = {{"type", type}, {"shape", tensors[k].shape()}, {"sha256", digests[k]}};
  }
  return run.dump(2) + "\n";
}

Result<Outcome> make_store(const CurvatureOptions& options) {
  ZKAPEX_CHECK(keep_memory_private());
  ZKAPEX_CHECK(check_output(options.out, options.common.force, {options.deployment, options.model, options.fisher}));
  ZKAPEX_TRY(const Deployment deployment, read_deployment(options.deployment));
  ZKAPEX_TRY(const Checkpoint model, Checkpoint::open(options.model));
  if (const Status fits = deployment.layout().check_tensors(model.tensors()); !fits)
    return fits.error().within(options.model.string());
  ZKAPEX_TRY(const Checkpoint fisher, Checkpoint::open(options.fisher));
  Result<FisherSource> source = checkpoint_fisher(deployment.layout(), fisher);
  if (!source) return source.error().within(options.fisher.string());
  const StoreHeader header = store_header_for(deployment);
  const FactorSettings settings{header.block, header.bits, header.floor, damping_of(options)};
  ZKAPEX_CHECK(settings.check());
  ZKAPEX_TRY(const unsigned threads, threads_that_fit(options.common, header.block));
  ThreadPool pool(threads);
  const std::string run = run_of(fisher, settings.damping, pool, options.common.progress_style());
  ZKAPEX_TRY(StoreWriter writer, StoreWriter::open(options.out, header, run, options.common.force));
  const uint64_t resumed = writer.blocks();
  StoreStatistics made;
  {
    Progress progress(options.common.progress_style(), "factoring", "blocks", header.blocks);
    progress.advance(resumed);
    ZKAPEX_TRY(made, build_store(writer, settings, *source, pool, [&](uint64_t done) { progress.advance(done); }));
  }
  Report{.headline = fmt::format("{}: a curvature store", options.out.string()),
         .values = store_as_json(options.out, header, resumed, made)}
      .print(options.common.json);
  return Outcome::kDone;
}

}  // namespace

void add_curvature(Command parent, Action& action) {
  const auto options = std::make_shared<CurvatureOptions>();
  const Command command = parent.add_command("curvature", "Turn Fisher information into a curvature store (client)");
  command.add_option("--deployment", options->deployment, "The deployment file").required();
  command.add_option("--model", options->model, "The client's model: safetensors").required();
  command.add_option("--fisher", options->fisher, "Gradients or Fisher blocks of the covered tensors: safetensors")
      .required();
  const Option relative = command.add_option("--relative-damping", options->relative,
                                             "λ as a fraction of a block's mean diagonal; 0.2 where not given");
  command.add_option("--damping", options->absolute, "λ itself").excludes(relative);
  command.add_option("-o,--output", options->out, "The store to write").required();
  options->common.offer_all(command);
  command.footer(
      "Under the name of each covered tensor of N weights, --fisher has either gradients of m samples, shape [m, N], "
      "or\n"
      "explicit blocks, shape [ceil(N / B), B, B]. A block C = F + λ I becomes an integer factor L with L Lᵀ + μ I ~ "
      "C,\n"
      "which is the curvature from then on.\n\n"
      "An interrupted run leaves a file with .partial behind its name; the same command goes on with it. One with "
      "another\n"
      "Fisher file or damping is refused; --force starts anew. The statistics are of the blocks of this run: 'damping "
      "raised'\n"
      "counts blocks whose bits cannot resolve the damping that was asked for (then a deployment with more --bits "
      "helps).\n\n"
      "Examples:\n"
      "  zkapex curvature --deployment deployment.zka --model theta.safetensors --fisher F.safetensors -o store.zka\n"
      "  zkapex curvature --deployment deployment.zka --model theta.safetensors --fisher F.safetensors \\\n"
      "      --relative-damping 1e-3 --threads 8 -o store.zka");
  command.runs(action, [options] { return make_store(*options); });
}

}  // namespace zkapex::cli
