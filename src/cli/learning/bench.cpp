// zkapex bench learning
#include "cli/learning/bench.h"

#include <ATen/Parallel.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <fmt/format.h>

#include <algorithm>

#include "base/stopwatch.h"
#include "cli/learning/common.h"
#include "learning/block_products.h"
#include "learning/fisher.h"
#include "learning/optimizer.h"
#include "learning/runtime.h"
#include "learning/training.h"

namespace zkapex::cli {

namespace {

double seconds_of(const at::Device& device, const std::function<void()>& body) {
  wait_for(device);
  const Stopwatch watch;
  body();
  wait_for(device);
  return watch.seconds();
}

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values[values.size() / 2];
}

// A small ViT for 28×28 images.
Result<ModelConfig> bench_config() {
  return parse_model_config({{"model_type", "vit"},
                             {"hidden_size", 128},
                             {"num_hidden_layers", 6},
                             {"num_attention_heads", 4},
                             {"intermediate_size", 512},
                             {"image_size", 28},
                             {"patch_size", 7},
                             {"num_channels", 1},
                             {"num_labels", 10}});
}

Batch random_images(int64_t count, const Placement& placement) {
  return Batch{at::randn({count, 1, 28, 28}), at::randint(10, {count}, at::kLong)}.to(placement);
}

struct TrainingFigures {
  double ours = 0, plain = 0;  // images per second
};

// One step each in turn, so that both see the same state of the machine.
Result<TrainingFigures> bench_training(const ModelConfig& config, const Placement& placement, int steps) {
  const int64_t n = 64;
  const Batch batch = random_images(n, placement);
  const auto model = make_model(config, placement);
  initialize(*model, 1);
  ZKAPEX_TRY(auto trainable, trainable_parameters(*model, Method::kFull, 1));
  const auto optimizer = make_adamw(std::move(trainable), {});
  const auto step = [&] {
    const Tensor loss = model->sample_losses(model->logits(batch.inputs, {.training = true}), batch.labels).mean();
    optimizer->zero_gradients();
    loss.backward();
    clip_gradients(optimizer->parameters(), 1);
    optimizer->step(1e-3);
  };
  const auto plain = plain_training_step(config, batch, 1e-3);
  std::vector<double> own_times, plain_times;
  for (int k = -2; k < steps; ++k) {
    const double own = seconds_of(placement.device, step), other = seconds_of(placement.device, plain);
    if (k < 0) continue;  // warming up
    own_times.push_back(own);
    plain_times.push_back(other);
  }
  return TrainingFigures{static_cast<double>(n) / median(own_times), static_cast<double>(n) / median(plain_times)};
}

struct FisherFigures {
  double accumulate = 0, gemm = 0, pass = 0;  // seconds
  double flops = 0, gemm_rate = 0;
};

// The products that the blocks need and nothing else, for `samples` samples by `pending` at a time.
double block_product_seconds(int64_t blocks, int64_t block, int64_t samples, int64_t pending,
                             const Placement& placement) {
  const Tensor gradients = at::randn({blocks, pending, block}, placement.options());
  const Tensor sums = at::zeros({blocks, block, block}, placement.options());
  add_block_products(sums, gradients);  // warms up
  return seconds_of(placement.device, [&] {
    for (int64_t s = 0; s < samples; s += pending) add_block_products(sums, gradients);
  });
}

double gemm_flops_per_second(const Placement& placement) {
  const int64_t n = placement.device.is_cpu() ? 1024 : 8192;
  const Tensor a = at::randn({n, n}, placement.options()), b = at::randn({n, n}, placement.options());
  std::vector<double> times;
  for (int k = 0; k < 7; ++k) times.push_back(seconds_of(placement.device, [&] { (void)at::mm(a, b); }));
  return 2.0 * static_cast<double>(n * n * n) / median(times);
}

Result<FisherFigures> bench_fisher(const ModelConfig& config, const Placement& placement, int64_t samples) {
  const auto model = make_model(config, placement);
  initialize(*model, 1);
  const int64_t block = 256, pending = 64;
  const Batch batch = random_images(pending, placement);
  const BatchSource source = [&](const BatchVisitor& visit) -> Status {
    for (int64_t k = 0; k < samples; k += pending) {
      ZKAPEX_CHECK(visit(batch));
    }
    return Done{};
  };
  const FisherSink sink = [](const FisherSlice&) -> Status { return Done{}; };
  FisherFigures out;
  BlockFisherReport report;
  for (int k = 0; k < 2; ++k) {  // the first warms up
    const Stopwatch watch;
    ZKAPEX_TRY(report, block_fisher(*model, source, model->mlp_weights(), {.block = block, .pending = pending}, sink));
    out.pass = watch.seconds();
  }
  out.accumulate = report.accumulate_seconds;
  out.flops = report.flops;
  out.gemm = block_product_seconds(report.blocks, block, samples, pending, placement);
  out.gemm_rate = gemm_flops_per_second(placement);
  return out;
}

struct BenchFlags {
  CommonFlags common;
  std::string device = "cpu";
  bool quick = false;
};

Result<Outcome> run_bench(const BenchFlags& flags) {
  return catch_torch([&]() -> Result<Outcome> {
    start_libtorch(flags.common.threads);
    ZKAPEX_TRY(const Placement placement, placement_on(flags.device));
    ZKAPEX_TRY(const ModelConfig config, bench_config());
    ZKAPEX_TRY(const TrainingFigures t, bench_training(config, placement, flags.quick ? 3 : 15));
    ZKAPEX_TRY(const FisherFigures f, bench_fisher(config, placement, flags.quick ? 64 : 512));
    const nlohmann::ordered_json out = {
        {"threads", at::get_num_threads()},
        {"device", placement.device.str()},
        {"training",
         {{"images_per_second", t.ours}, {"plain_libtorch_images_per_second", t.plain}, {"ratio", t.ours / t.plain}}},
        {"fisher",
         {{"seconds", f.pass},
          {"accumulate_seconds", f.accumulate},
          {"block_gemm_seconds", f.gemm},
          {"times_the_gemms", f.accumulate / f.gemm},
          {"gflops_per_second", f.flops / f.accumulate / 1e9},
          {"plain_gemm_gflops_per_second", f.gemm_rate / 1e9}}}};
    if (flags.common.json) {
      fmt::print("{}\n", out.dump(2));
    } else {
      fmt::print("training  {:.0f} images/s, {:.0f} by a plain loop of libtorch: {:.2f} times\n", t.ours, t.plain,
                 t.ours / t.plain);
      fmt::print("fisher    {:.3f} s to add gradients to blocks, {:.3f} s for the products alone: {:.2f} times\n",
                 f.accumulate, f.gemm, f.accumulate / f.gemm);
      fmt::print("          {:.1f} GFLOP/s there, {:.1f} in a plain product of matrices\n",
                 f.flops / f.accumulate / 1e9, f.gemm_rate / 1e9);
    }
    return Outcome::kDone;
  });
}

}  // namespace

void add_bench_learning(Command bench, Action& action) {
  const auto flags = std::make_shared<BenchFlags>();
  const Command command = bench.add_command(kBenchLearning.name, kBenchLearning.about);
  flags->common.offer_json(command);
  offer_device(command, flags->device);
  flags->common.offer_threads(command);
  command.add_flag("--quick", flags->quick, "Fewer repetitions: less exact");
  command.footer("Examples:\n  zkapex bench learning\n  zkapex bench learning --json --quick");
  command.runs(action, [flags] { return run_bench(*flags); });
}

}  // namespace zkapex::cli
