// zkapex bench window: a whole window at the size of a real model, from made-up weights and curvature.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <random>

#include "base/json.h"
#include "base/memory.h"
#include "base/stopwatch.h"
#include "cli/command.h"
#include "cli/made_up_window.h"
#include "parties/client.h"
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
  bool guided = false;
  std::string work;
  CommonFlags common;
};

uint64_t peak_memory() {
  const Result<MemoryUse> use = memory_use();
  return use ? use->peak : 0;
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

// The largest distance between a block of θ_u and the exact operator's, in double precision, over a sample of blocks.
Result<double> measured_error(const Client& client, const Mask& mask, const UnlearnedModel& after) {
  const Layout& layout = client.deployment->layout();
  const Parameters& p = client.deployment->parameters();
  const uint64_t b = layout.geometry().block, samples = std::min<uint64_t>(16, layout.blocks());
  double worst = 0;
  for (uint64_t k = 0; k < samples; ++k) {
    const uint64_t index = k * layout.blocks() / samples;
    const Layout::Block block = layout.block(index);
    std::vector<int16_t> factor(triangle_size(b));
    ZKAPEX_CHECK(client.store->read(index, 1, std::span(factor)));
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
    ZKAPEX_CHECK(client.read(block.first_coordinate, before));
    ZKAPEX_CHECK(after.read(block.first_coordinate, now));
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

// A folder for the curvature store and for what provers put aside: one that the caller named, or one that goes again.
class WorkFolder {
 public:
  static Result<WorkFolder> make(const std::string& named) {
    const bool keep = !named.empty();
    const Path path =
        keep ? Path(named)
             : std::filesystem::temp_directory_path() / fmt::format("zkapex-bench-{}", std::random_device{}());
    std::error_code failed;
    std::filesystem::create_directories(path, failed);
    if (failed) return error("cannot make {}: {}", path.string(), failed.message());
    return WorkFolder(path, keep);
  }
  WorkFolder(WorkFolder&& other) noexcept : path_(std::move(other.path_)), keep_(std::exchange(other.keep_, true)) {}
  WorkFolder& operator=(WorkFolder&&) = delete;
  ~WorkFolder() {
    std::error_code ignored;
    if (!keep_) std::filesystem::remove_all(path_, ignored);
  }
  [[nodiscard]] const Path& path() const { return path_; }

 private:
  WorkFolder(Path path, bool keep) : path_(std::move(path)), keep_(keep) {}

  Path path_;
  bool keep_;
};

Result<StoreReader> open_or_make_up_store(const WindowBenchFlags& flags, const Deployment& deployment,
                                          const Path& folder, const WorkSettings& settings) {
  const Path path = folder / fmt::format("bench-{}-{}-{}-{}-{}.store", flags.shape, deployment.layout().blocks(),
                                         flags.block, flags.bits, flags.seed);
  if (!std::filesystem::exists(path)) {
    ZKAPEX_CHECK(make_up_store(path, deployment, flags.seed, *settings.pool, settings.progress));
  }
  return StoreReader::open(path);
}

// The steps of a client and of the provider, each measured.
class WindowBench {
 public:
  WindowBench(const WindowBenchFlags& flags, const Deployment& deployment, const Mask& mask, const StoreReader& store,
              const Path& folder, const WorkSettings& settings)
      : flags_(flags), deployment_(deployment), folder_(folder), settings_(settings), mask_(mask) {
    client_.deployment = &deployment;
    client_.read = made_up_weights(deployment, flags.seed);
    client_.store = &store;
  }

  Result<nlohmann::ordered_json> run() {
    describe();
    ZKAPEX_CHECK(register_client());
    ZKAPEX_CHECK(window());
    return std::move(out_);
  }

 private:
  void describe() {
    const Layout& layout = deployment_.layout();
    out_["shape"] = flags_.shape;
    out_["d"] = layout.coordinates();
    out_["blocks"] = layout.blocks();
    out_["block"] = flags_.block;
    out_["row_length"] = layout.geometry().row;
    out_["operator"] = name(mask_.op);
    out_["masked"] = mask_.support.size();
    out_["request_bytes"] = mask_.serialize().size();
    out_["threads"] = settings_.pool->size();
    out_["prepare_s"] = watch_.lap();
  }

  Status register_client() {
    ZKAPEX_TRY(const RegistrationPlan plan, plan_registration(deployment_, settings_));
    const Generators generators = Generators::derive(plan.shape().generators(), *settings_.pool);
    out_["generators_s"] = watch_.lap();
    reset_memory_peak();
    const ClientModel model(deployment_, client_.read, *client_.store);
    ZKAPEX_TRY(registered_, make_registration(deployment_, "bench", plan, model, folder_, generators, settings_));
    const ProvedRegistration& proved = registered_->proved;
    out_["register_s"] = watch_.lap();
    out_["commit_s"] = proved.commit_model_seconds + proved.commit_curvature_seconds;
    out_["commit_curvature_s"] = proved.commit_curvature_seconds;
    out_["project_s"] = proved.project_seconds;
    out_["registration_bytes"] = registered_->file.encode().size();
    watch_.lap();
    const auto verified = verify_registration_file(deployment_, registered_->file, generators, *settings_.pool);
    if (!verified) return error("an honest registration was rejected: {}", verified.error().detail);
    out_["verify_registration_s"] = watch_.lap();
    out_["register_peak_rss_bytes"] = peak_memory();
    client_.record = {*verified, verified->model, {}};
    client_.openings = {{proved.model_blindings.data(), proved.model_blindings.size()},
                        {proved.curvature_blindings.data(), proved.curvature_blindings.size()}};
    return Done{};
  }

  Status window() {
    ZKAPEX_TRY(const WindowPlan plan, plan_window(deployment_, mask_, settings_));
    out_["segments"] = plan.segments().size();
    const Generators generators = Generators::derive(plan.shape().generators(), *settings_.pool);
    reset_memory_peak();
    watch_.lap();
    ZKAPEX_TRY(const AppliedOperator applied, apply_operator(client_, mask_, folder_, settings_));
    out_["apply_s"] = watch_.lap();
    if (mask_.op == Operator::kGroupObs) {
      ZKAPEX_TRY(out_["measured_error"], measured_error(client_, mask_, applied.after));
    }
    watch_.lap();
    ZKAPEX_TRY(const ProvedWindow proved,
               attest_window(client_, mask_, plan, applied.after, folder_, generators, settings_));
    out_["prove_s"] = watch_.lap();
    out_["peak_rss_bytes"] = peak_memory();
    watch_.lap();
    const auto next = verify_window_file(deployment_, client_.record, mask_, proved.file, generators, *settings_.pool);
    if (!next) return error("an honest proof was rejected: {}", next.error().detail);
    out_["verify_s"] = watch_.lap();
    out_["proof_bytes"] = proved.file.proof.size();
    out_["certified_error"] = deployment_.parameters().error.approximate();
    return Done{};
  }

  const WindowBenchFlags& flags_;
  const Deployment& deployment_;
  const Path& folder_;
  const WorkSettings& settings_;
  const Mask& mask_;
  std::optional<NewRegistration> registered_;
  Client client_{};
  Stopwatch watch_;
  nlohmann::ordered_json out_;
};

Result<Outcome> run(const WindowBenchFlags& flags) {
  ThreadPool pool(flags.common.threads);
  WorkSettings settings;
  settings.pool = &pool;
  settings.progress = flags.common.progress_style();
  if (flags.common.memory) settings.memory = flags.common.memory->bytes();
  ZKAPEX_TRY(const Deployment deployment, make_deployment(flags));
  ZKAPEX_TRY(const WorkFolder folder, WorkFolder::make(flags.work));
  ZKAPEX_TRY(const StoreReader store, open_or_make_up_store(flags, deployment, folder.path(), settings));
  ZKAPEX_TRY(const Mask mask, made_up_mask(deployment, flags.ratio, flags.seed, flags.guided));
  ZKAPEX_TRY(const nlohmann::ordered_json out,
             WindowBench(flags, deployment, mask, store, folder.path(), settings).run());
  if (flags.common.json) {
    fmt::print("{}\n", out.dump(2));
  } else {
    for (const auto& [key, value] : out.items()) fmt::print("{:>24}  {}\n", key, value.dump());
  }
  return Outcome::kDone;
}

}  // namespace

void add_bench_window(Command bench, Action& action) {
  auto flags = std::make_shared<WindowBenchFlags>();
  const Command command =
      bench.add_command("window", "Register, unlearn, prove and verify at the size of a real model.");
  command.footer(
      "Weights and curvature are made up from a seed; nothing but the curvature store is written.\n\n"
      "Examples:\n"
      "  zkapex bench window --shape vit-b16 --layers 1\n"
      "  zkapex bench window --shape vit-b16 --json          all 12 layers: 56.6 million weights, a store of 7.3 GB\n"
      "  zkapex bench window --shape vit-tiny");
  command.add_option("--shape", flags->shape, "vit-b16, vit-tiny or opt-125m").shows_default();
  command.add_option("--layers", flags->layers, "transformer blocks; 0 means all of the shape").shows_default();
  command.add_option("--block", flags->block, "B, the size of a Fisher block").shows_default();
  command.add_option("--row-length", flags->row, "n, entries of a committed row; 0 chooses").shows_default();
  command.add_option("--ratio", flags->ratio, "part of the weights that is masked").shows_default();
  command.add_option("--bits", flags->bits, "c, bits of a factor's entries").shows_default();
  command.add_flag("--guided", flags->guided, "a request with a guide, made up too");
  command.add_option("--seed", flags->seed, "of the made-up weights, curvature and mask").shows_default();
  command.add_option("--work", flags->work, "folder for the curvature store, which is kept and used again");
  flags->common.offer_json(command);
  flags->common.offer_threads(command);
  flags->common.offer_memory(command);
  flags->common.offer_quiet(command);
  command.runs(action, [flags] { return run(*flags); });
}

}  // namespace zkapex::cli
