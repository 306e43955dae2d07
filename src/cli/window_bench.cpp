#include "cli/window_bench.h"

#include <fmt/format.h>

#include <cmath>
#include <random>

#include "base/cpu.h"
#include "base/machine.h"
#include "base/memory.h"
#include "cli/made_up_window.h"
#include "unlearning/dense_obs.h"
#include "weights/row_length.h"

namespace zkapex::cli {

namespace {

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
  if (geometry.row == 0) {  // as `deploy` does
    geometry.row = default_row_length(flags.block, 2 * shape.layers * shape.width * shape.hidden);
  }
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

Result<StoreReader> open_or_make_up_store(const WindowBenchFlags& flags, const Deployment& deployment,
                                          const Path& folder, const WorkSettings& settings) {
  const Path path = folder / fmt::format("bench-{}-{}-{}-{}-{}.store", flags.shape, deployment.layout().blocks(),
                                         flags.block, flags.bits, flags.seed);
  if (!std::filesystem::exists(path)) {
    ZKAPEX_CHECK(make_up_store(path, deployment, flags.seed, *settings.pool, settings.progress));
  }
  return StoreReader::open(path);
}

nlohmann::ordered_json as_json(const Estimate& estimate) {
  return {{"seconds", estimate.seconds},
          {"memory_bytes", estimate.memory_bytes},
          {"proof_bytes", estimate.proof_bytes},
          {"scratch_bytes", estimate.disk_bytes}};
}

}  // namespace

void WindowBenchFlags::offer(Command command) {
  command.add_option("--shape", shape, "vit-b16, vit-tiny or opt-125m").shows_default();
  command.add_option("--layers", layers, "transformer blocks; 0 means all of the shape").shows_default();
  command.add_option("--block", block, "B, the size of a Fisher block").shows_default();
  command.add_option("--row-length", row, "n, entries of a committed row; 0 chooses").shows_default();
  command.add_option("--ratio", ratio, "part of the weights that is masked").shows_default();
  command.add_option("--bits", bits, "c, bits of a factor's entries").shows_default();
  command.add_flag("--guided", guided, "a request with a guide, made up too");
  command.add_flag("--no-anchor", no_anchor, "a registration of any model at all");
  command.add_option("--seed", seed, "of the made-up weights, curvature and mask").shows_default();
  command.add_option("--work", work, "folder for the curvature store, which is kept and used again");
  common.offer_json(command);
  common.offer_threads(command);
  common.offer_memory(command);
  common.offer_quiet(command);
}

Result<WorkFolder> WorkFolder::make(const std::string& named) {
  const bool keep = !named.empty();
  const Path path =
      keep ? Path(named)
           : std::filesystem::temp_directory_path() / fmt::format("zkapex-bench-{}", std::random_device{}());
  std::error_code failed;
  std::filesystem::create_directories(path, failed);
  if (failed) return error("cannot make {}: {}", path.string(), failed.message());
  return WorkFolder(path, keep);
}

WorkFolder::~WorkFolder() {
  std::error_code ignored;
  if (!keep_) std::filesystem::remove_all(path_, ignored);
}

WindowBench::WindowBench(const WindowBenchFlags& flags, WorkFolder folder)
    : flags_(flags), folder_(std::move(folder)), pool_(flags.common.threads) {
  settings_.pool = &pool_;
  settings_.progress = flags.common.progress_style();
  if (flags.common.memory) settings_.memory = flags.common.memory->bytes();
}

Result<std::unique_ptr<WindowBench>> WindowBench::make(const WindowBenchFlags& flags) {
  ZKAPEX_TRY(WorkFolder folder, WorkFolder::make(flags.work));
  auto out = std::unique_ptr<WindowBench>(new WindowBench(flags, std::move(folder)));
  ZKAPEX_CHECK(out->make_up());
  return out;
}

Status WindowBench::make_up() {
  ZKAPEX_TRY(plain_, make_deployment(flags_));
  base_ = made_up_base(*plain_, flags_.seed);
  deployment_ = plain_;
  if (!flags_.no_anchor) {
    ZKAPEX_TRY(deployment_, made_up_anchor(*plain_, *base_, pool_));
  }
  ZKAPEX_TRY(store_, open_or_make_up_store(flags_, *deployment_, folder_.path(), settings_));
  ZKAPEX_TRY(mask_, made_up_mask(*deployment_, flags_.ratio, flags_.seed, flags_.guided));
  client_.deployment = &*deployment_;
  client_.read = made_up_weights(*deployment_, flags_.seed);
  client_.store = &*store_;
  describe();
  return Done{};
}

void WindowBench::describe() {
  const Layout& layout = deployment_->layout();
  out_["machine"] = machine_description();
  out_["machine"]["path"] = name(instruction_set());
  out_["shape"] = flags_.shape;
  out_["d"] = layout.coordinates();
  out_["blocks"] = layout.blocks();
  out_["block"] = flags_.block;
  out_["row_length"] = layout.geometry().row;
  out_["operator"] = name(mask_->op);
  out_["masked"] = mask_->support.size();
  out_["request_bytes"] = mask_->serialize().size();
  out_["threads"] = pool_.size();
  out_["prepare_s"] = watch_.lap();
}

Status WindowBench::register_client() {
  WorkSettings any = settings_;  // a budget is for the window, unless a registration can keep it, too
  if (!plan_registration(*deployment_, settings_)) any.memory.reset();
  ZKAPEX_TRY(const RegistrationPlan plan, plan_registration(*deployment_, any));
  out_["register_within_budget"] = any.memory == settings_.memory;
  out_["register_estimate"] = as_json(estimate_registration(*deployment_, plan, any));
  const Generators generators = Generators::derive(plan.shape().generators(), pool_);
  out_["generators_s"] = watch_.lap();
  reset_memory_peak();
  const ClientModel model(*deployment_, client_.read, *store_);
  ZKAPEX_TRY(registered_,
             make_registration(*deployment_, &*base_, "bench", plan, model, folder_.path(), generators, any));
  const ProvedRegistration& proved = registered_->proved;
  out_["register_s"] = watch_.lap();
  out_["commit_s"] = proved.commit_model_seconds + proved.commit_curvature_seconds;
  out_["commit_curvature_s"] = proved.commit_curvature_seconds;
  out_["project_s"] = proved.project_seconds;
  out_["registration_bytes"] = registered_->file.encode().size();
  watch_.lap();
  const auto verified = verify_registration_file(*deployment_, &*base_, registered_->file, generators, pool_);
  if (!verified) return error("an honest registration was rejected: {}", verified.error().detail);
  out_["verify_registration_s"] = watch_.lap();
  out_["register_peak_rss_bytes"] = peak_memory();
  client_.record = {*verified, verified->model, {}};
  client_.openings = {{proved.model_blindings.data(), proved.model_blindings.size()},
                      {proved.curvature_blindings.data(), proved.curvature_blindings.size()}};
  return Done{};
}

Status WindowBench::window() {
  ZKAPEX_TRY(const WindowPlan plan, plan_window(*deployment_, *mask_, settings_));
  out_["segments"] = plan.segments().size();
  out_["window_estimate"] =
      as_json(estimate_window(*deployment_, plan, mask_->support.size(), pool_, Rates::measure()));
  generators_ = Generators::derive(plan.shape().generators(), pool_);
  reset_memory_peak();
  watch_.lap();
  ZKAPEX_TRY(const AppliedOperator applied, apply_operator(client_, *mask_, folder_.path(), settings_));
  out_["apply_s"] = watch_.lap();
  if (mask_->op == Operator::kGroupObs) {
    ZKAPEX_TRY(out_["measured_error"], measured_error(client_, *mask_, applied.after));
  }
  watch_.lap();
  ZKAPEX_TRY(proved_, attest_window(client_, *mask_, plan, applied.after, folder_.path(), *generators_, settings_));
  out_["prove_s"] = watch_.lap();
  out_["prove_phases_s"] = nlohmann::ordered_json::object();
  for (const auto& [phase, seconds] : proved_->seconds.parts) out_["prove_phases_s"][phase] = seconds;
  watch_.lap();
  const auto next = verify_window_file(*deployment_, client_.record, *mask_, proved_->file, *generators_, pool_);
  if (!next) return error("an honest proof was rejected: {}", next.error().detail);
  out_["verify_s"] = watch_.lap();
  out_["peak_rss_bytes"] = peak_memory();
  out_["proof_bytes"] = proved_->file.proof.size();
  out_["certified_error"] = deployment_->parameters().error.approximate();
  return Done{};
}

}  // namespace zkapex::cli
