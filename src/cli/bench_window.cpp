// zkapex bench window: a whole window at the size of a real model, from made-up weights and curvature.
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <random>

#include "attestation/client.h"
#include "attestation/client_model.h"
#include "attestation/provider.h"
#include "attestation/registration_prover.h"
#include "attestation/registration_verifier.h"
#include "attestation/window_prover.h"
#include "attestation/window_verifier.h"
#include "base/memory.h"
#include "cli/command.h"
#include "unlearning/apply.h"
#include "unlearning/dense_obs.h"

namespace zkapex::cli {

namespace {

struct WindowBenchFlags {
  std::string shape = "vit-b16";
  unsigned layers = 0;  // 0: all of the shape
  uint64_t block = 256, row = 0;
  double ratio = 0.04;
  uint32_t bits = 8;
  uint64_t seed = 1;
  bool certificate = false;
  std::string work;
  CommonFlags common;
};

class Clock {
 public:
  double lap() {
    const auto now = std::chrono::steady_clock::now();
    const double out = std::chrono::duration<double>(now - last_).count();
    last_ = now;
    return out;
  }

 private:
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

uint64_t peak_memory() {
  const Result<MemoryUse> use = memory_use();
  return use ? use->peak : 0;
}

// A well mixed function of a seed and an index: made-up data without storing it.
uint64_t mix(uint64_t seed, uint64_t x) {
  x += seed * 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

struct Shape {
  unsigned layers;
  uint64_t width, hidden;  // fc1 is hidden × width, fc2 width × hidden
};

Result<Shape> shape_named(const std::string& name) {
  if (name == "vit-b16" || name == "opt-125m") return Shape{12, 768, 3072};
  if (name == "vit-tiny") return Shape{12, 192, 768};
  return error("there is no shape '{}': use vit-b16, vit-tiny or opt-125m", name);
}

Result<Deployment> make_deployment(const WindowBenchFlags& flags) {
  ZKAPEX_TRY(Shape shape, shape_named(flags.shape));
  if (flags.layers != 0) shape.layers = flags.layers;
  std::vector<TensorInfo> tensors;
  for (unsigned k = 0; k < shape.layers; ++k) {
    tensors.push_back({fmt::format("layers.{}.fc1.weight", k), Dtype::kF32, {shape.hidden, shape.width}});
    tensors.push_back({fmt::format("layers.{}.fc2.weight", k), Dtype::kF32, {shape.width, shape.hidden}});
  }
  Geometry geometry{.block = flags.block, .row = flags.row};
  if (geometry.row == 0) geometry.row = std::max<uint64_t>(uint64_t{1} << 17, geometry.stride() * geometry.stride());
  ZKAPEX_TRY(Layout layout, Layout::make(tensors, {"layers.{i}.fc1.weight", "layers.{i}.fc2.weight"}, geometry));
  Parameters parameters;
  parameters.curvature_bits = flags.bits;
  return Deployment::make(std::move(layout), parameters);
}

// Weights of a normal kind, deviation 0.02, by coordinate.
CoordinateReader made_up_weights(const Deployment& deployment, uint64_t seed) {
  return [&deployment, seed](uint64_t first, std::span<int64_t> out) {
    const double unit = std::ldexp(1.0, static_cast<int>(deployment.parameters().weights.fraction_bits));
    for (size_t k = 0; k < out.size(); ++k) {
      const uint64_t bits = mix(seed, first + k);
      double sum = -2;  // four uniform numbers: near enough to normal
      for (unsigned part = 0; part < 4; ++part) sum += static_cast<double>(bits >> (16 * part) & 0xffff) / 65536;
      out[k] = std::llround(0.02 * std::sqrt(3.0) * sum * unit);
    }
    return Status(Done{});
  };
}

// Curvature of low rank plus damping: some factors are made from gradients of 64 samples; each block is one of them
// with the signs of its coordinates drawn anew, which is again such a factor.
Status make_store(const Path& path, const Deployment& deployment, uint64_t seed, ThreadPool& pool,
                  ProgressStyle style) {
  constexpr size_t kPatterns = 32, kSamples = 64;
  const uint64_t block = deployment.layout().geometry().block, entries = triangle_size(block);
  const Parameters& p = deployment.parameters();
  const FactorSettings settings{.block = block, .bits = p.curvature_bits, .floor = p.floor, .damping = {}};
  std::vector<int16_t> patterns(kPatterns * entries);
  std::mt19937_64 rng(seed);
  std::normal_distribution<double> normal;
  FactorMaker maker(settings);
  for (size_t k = 0; k < kPatterns; ++k) {
    std::vector<double> gradients(kSamples * block);
    for (double& g : gradients) g = normal(rng);
    ZKAPEX_TRY(const FactorStatistics statistics,
               maker.from_gradients(gradients, block, std::span(patterns).subspan(k * entries, entries)));
    (void)statistics;
  }
  ZKAPEX_TRY(StoreWriter writer, StoreWriter::open(path, store_header_for(deployment), "", true));
  Progress progress(style, "making curvature", "blocks", deployment.layout().blocks());
  constexpr uint64_t kAtOnce = 512;
  std::vector<int16_t> factors(kAtOnce * entries);
  for (uint64_t first = writer.blocks(); first < deployment.layout().blocks(); first += kAtOnce) {
    const uint64_t count = std::min(kAtOnce, deployment.layout().blocks() - first);
    pool.for_each(count, [&](size_t b) {
      const int16_t* pattern = patterns.data() + mix(seed, first + b) % kPatterns * entries;
      int16_t* out = factors.data() + b * entries;
      for (size_t j = 0; j < block; ++j) {
        const bool flip = (mix(seed, (first + b) * block + j) & 1) != 0;
        for (size_t l = 0; l <= j; ++l)
          out[triangle_size(j) + l] =
              static_cast<int16_t>(flip ? -pattern[triangle_size(j) + l] : pattern[triangle_size(j) + l]);
      }
    });
    ZKAPEX_CHECK(writer.append(std::span<const int16_t>(factors).first(count * entries)));
    progress.advance(count);
  }
  return writer.finish();
}

Mask make_mask(const Deployment& deployment, double ratio, uint64_t seed) {
  Mask mask;
  mask.deployment = deployment.digest();
  mask.window = "bench";
  const auto limit = static_cast<uint64_t>(ratio * 0x1p53);
  for (uint64_t c = 0; c < deployment.layout().coordinates(); ++c) {
    if (mix(seed, c ^ 0x5555555555555555ULL) >> 11 < limit) mask.support.push_back(c);
  }
  return mask;
}

// The largest distance between a block of θ_u and the exact operator's, in double precision, over a sample of blocks.
Result<double> measured_error(const Deployment& deployment, const Mask& mask, const StoreReader& store,
                              const CoordinateReader& read, const UnlearnedModel& after) {
  const Layout& layout = deployment.layout();
  const Parameters& p = deployment.parameters();
  const uint64_t b = layout.geometry().block, samples = std::min<uint64_t>(16, layout.blocks());
  double worst = 0;
  for (uint64_t k = 0; k < samples; ++k) {
    const uint64_t index = k * layout.blocks() / samples;
    const Layout::Block block = layout.block(index);
    std::vector<int16_t> factor(triangle_size(b));
    ZKAPEX_CHECK(store.read(index, 1, std::span(factor)));
    std::vector<double> a(block.count * block.count), theta(block.count);
    for (size_t i = 0; i < block.count; ++i) {
      for (size_t j = 0; j <= i; ++j) {
        double sum = i == j ? static_cast<double>(p.floor) : 0;
        for (size_t l = 0; l <= j; ++l)
          sum += static_cast<double>(factor[triangle_size(i) + l]) * factor[triangle_size(j) + l];
        a[i * block.count + j] = a[j * block.count + i] = sum;
      }
    }
    std::vector<int64_t> before(block.count), now(block.count);
    ZKAPEX_CHECK(read(block.first_coordinate, before));
    after.packed().get(block.first_coordinate, now);
    std::vector<uint32_t> masked;
    auto at = std::lower_bound(mask.support.begin(), mask.support.end(), block.first_coordinate);
    for (; at != mask.support.end() && *at < block.first_coordinate + block.count; ++at) {
      masked.push_back(static_cast<uint32_t>(*at - block.first_coordinate));
    }
    for (size_t i = 0; i < theta.size(); ++i) theta[i] = p.weights.to_double(before[i]);
    ZKAPEX_TRY(const std::vector<double> x, dense_obs(a, theta, masked));
    double square = 0;
    for (size_t i = 0; i < theta.size(); ++i) square += std::pow(p.weights.to_double(now[i]) - theta[i] - x[i], 2);
    worst = std::max(worst, std::sqrt(square));
  }
  return worst;
}

Result<Verdict> run(const WindowBenchFlags& flags) {
  nlohmann::ordered_json out;
  Clock clock;
  ThreadPool pool(flags.common.threads);
  WorkSettings settings;
  settings.pool = &pool;
  settings.progress = flags.common.progress_style();
  if (flags.common.memory) settings.memory = flags.common.memory->bytes();
  ZKAPEX_TRY(const Deployment deployment, make_deployment(flags));
  const Layout& layout = deployment.layout();
  const Path folder = flags.work.empty() ? std::filesystem::temp_directory_path() /
                                               fmt::format("zkapex-bench-{}", std::random_device{}())
                                         : Path(flags.work);
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error("cannot make {}: {}", folder.string(), failed.message());
  struct Cleanup {
    Path path;
    ~Cleanup() {
      std::error_code ignored;
      std::filesystem::remove_all(path, ignored);
    }
  } cleanup{flags.work.empty() ? folder : Path()};
  const Path store_path = folder / fmt::format("bench-{}-{}-{}-{}-{}.store", flags.shape, layout.blocks(), flags.block,
                                               flags.bits, flags.seed);
  if (!std::filesystem::exists(store_path)) {
    ZKAPEX_CHECK(make_store(store_path, deployment, flags.seed, pool, settings.progress));
  }
  ZKAPEX_TRY(const StoreReader store, StoreReader::open(store_path));
  const Mask mask = make_mask(deployment, flags.ratio, flags.seed);
  const CoordinateReader read = made_up_weights(deployment, flags.seed);
  const ClientModel before(deployment, read, store);
  out["shape"] = flags.shape;
  out["d"] = layout.coordinates();
  out["blocks"] = layout.blocks();
  out["block"] = flags.block;
  out["row_length"] = layout.geometry().row;
  out["masked"] = mask.support.size();
  out["threads"] = pool.size();
  out["prepare_s"] = clock.lap();

  const RegistrationCut cut{cut_rows(layout.rows(), rows_per_segment(deployment, settings.memory)),
                            flags.certificate
                                ? cut_rows(curvature_rows(layout), curvature_rows_per_unit(deployment, settings.memory))
                                : Segmentation{}};
  ZKAPEX_TRY(const RegistrationPlan registration_plan, RegistrationPlan::make(deployment, flags.certificate, cut));
  ZKAPEX_TRY(const WindowPlan plan,
             WindowPlan::make(deployment, mask, Operator::kGroupObs,
                              cut_rows(layout.rows(), rows_per_segment(deployment, settings.memory))));
  const Generators generators =
      Generators::derive(std::max(registration_plan.shape().generators(), plan.shape().generators()), pool);
  out["segments"] = plan.segments().size();
  out["generators_s"] = clock.lap();

  reset_memory_peak();
  RegistrationStatement registration{&deployment, "bench", {}, {}};
  RegisteredRows rows;
  SecretVector<Scalar> model_blindings, curvature_blindings;
  {
    ZKAPEX_TRY(Scratch scratch, Scratch::in(folder));
    Progress progress(settings.progress, "registering", "parts", registration_plan.units().size());
    ZKAPEX_TRY(ProvedRegistration proved,
               prove_registration(registration, registration_plan, before, settings.memory / 2, generators, pool,
                                  {.scratch = std::move(scratch), .progress = [&] { progress.advance(); }}));
    const double total = clock.lap();
    out["commit_curvature_s"] = proved.commit_curvature_seconds;
    out["certificate_s"] = proved.certificate_seconds;  // 0 without one
    out["register_s"] = total - proved.commit_curvature_seconds - proved.certificate_seconds;
    registration.curvature = std::move(proved.curvature);
    out["registration_bytes"] = proved.proof.encode().size() + 32 * registration.curvature.size();
    auto registered = registered_rows(registration, registration_plan, proved.proof, pool);
    if (!registered) return error("{}", registered.error().detail);
    rows = *std::move(registered);
    model_blindings = std::move(proved.model_blindings);
    curvature_blindings = std::move(proved.curvature_blindings);
    clock.lap();
    auto sum = check_registration(registration, registration_plan, proved.proof, pool);
    if (!sum || !verdict_var(*sum, generators, pool)) return error("an honest registration was rejected");
    out["verify_registration_s"] = clock.lap();
  }
  out["register_peak_rss_bytes"] = peak_memory();

  reset_memory_peak();
  UnlearnedModel after(deployment);
  {
    Progress progress(settings.progress, "unlearning", "blocks", layout.blocks());
    ZKAPEX_TRY(
        const ObsSummary summary,
        apply_group_obs(
            deployment, mask, store,
            [&](uint64_t index, std::span<int64_t> theta) { return read(layout.block(index).first_coordinate, theta); },
            [&](uint64_t index, std::span<const int64_t> theta, const ObsOutcome& outcome) {
              after.set_block(layout.block(index), theta, outcome.residual);
              progress.advance();
              return Status(Done{});
            },
            pool));
    (void)summary;
    out["apply_s"] = clock.lap();
    ZKAPEX_TRY(const double distance, measured_error(deployment, mask, store, read, after));
    out["measured_error"] = distance;
  }
  clock.lap();
  ZKAPEX_TRY(const WindowBits bits, WindowBits::make(deployment, plan, before, after, pool));
  const WindowStatement statement{&deployment, &mask, "bench", {}, {}, rows.model, rows.curvature, {}};
  const ModelOpenings openings{{model_blindings.data(), model_blindings.size()},
                               {curvature_blindings.data(), curvature_blindings.size()}};
  ZKAPEX_TRY(Scratch scratch, Scratch::in(folder));
  Bytes proof;
  {
    Progress progress(settings.progress, "proving", "segments", plan.segments().size());
    ZKAPEX_TRY(const WindowProof proved,
               prove_window(statement, plan, bits, before, openings, settings.memory / 6, generators, pool,
                            {.scratch = std::move(scratch), .progress = [&] { progress.advance(); }}));
    proof = proved.proof.encode();
  }
  out["prove_s"] = clock.lap();
  out["peak_rss_bytes"] = peak_memory();
  clock.lap();
  const auto decoded = Proof::decode(proof, plan.shape());
  if (!decoded) return error("{}", decoded.error().detail);
  const auto sum = check_window(statement, plan, *decoded, pool);
  if (!sum || !verdict_var(*sum, generators, pool)) return error("an honest proof was rejected");
  out["verify_s"] = clock.lap();
  out["proof_bytes"] = proof.size();
  out["certified_error"] = deployment.parameters().error.approximate();
  if (flags.common.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    for (const auto& [key, value] : out.items()) fmt::print("{:>24}  {}\n", key, value.dump());
  }
  return Verdict::kDone;
}

}  // namespace

void add_bench_window(CLI::App& bench, Action& action) {
  auto flags = std::make_shared<WindowBenchFlags>();
  CLI::App* command =
      bench.add_subcommand("window", "Register, unlearn, prove and verify at the size of a real model.");
  command->footer(
      "Weights and curvature are made up from a seed; nothing but the curvature store is written.\n\n"
      "Examples:\n"
      "  zkapex bench window --shape vit-b16 --layers 1\n"
      "  zkapex bench window --shape vit-b16 --json          all 12 layers: 56.6 million weights, a store of 7.3 GB\n"
      "  zkapex bench window --shape vit-tiny --certificate");
  command->add_option("--shape", flags->shape, "vit-b16, vit-tiny or opt-125m")->capture_default_str();
  command->add_option("--layers", flags->layers, "transformer blocks; 0 means all of the shape")->capture_default_str();
  command->add_option("--block", flags->block, "B, the size of a Fisher block")->capture_default_str();
  command->add_option("--row-length", flags->row, "n, entries of a committed row; 0 chooses")->capture_default_str();
  command->add_option("--ratio", flags->ratio, "part of the weights that is masked")->capture_default_str();
  command->add_option("--bits", flags->bits, "c, bits of a factor's entries")->capture_default_str();
  command->add_option("--seed", flags->seed, "of the made-up weights, curvature and mask")->capture_default_str();
  command->add_flag("--certificate", flags->certificate, "also prove that the curvature's entries are c-bit");
  command->add_option("--work", flags->work, "folder for the curvature store, which is kept and used again");
  flags->common.offer_json(*command);
  flags->common.offer_threads(*command);
  flags->common.offer_memory(*command);
  flags->common.offer_quiet(*command);
  command->callback([flags, &action] { action = [flags] { return run(*flags); }; });
}

}  // namespace zkapex::cli
