// zkapex bench batch: how much less proofs take to verify when many are settled together.
#include <fmt/format.h>

#include <ctime>

#include "argument/verifier.h"
#include "base/large_blocks.h"
#include "base/machine.h"
#include "cli/window_bench.h"

namespace zkapex::cli {

namespace {

struct BatchFlags {
  WindowBenchFlags window;
  std::vector<uint64_t> counts = {1, 8, 64, 256};
};

// CPU time of all threads: what else the machine does does not count.
double process_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// As `verify --batch` does, without its files. It is the same proof again and again, which saves nothing: each is
// decoded, replayed and weighed on its own.
Status verify_together(const WindowBench::Handed& handed, size_t count) {
  const LargeBlocksKept tables;
  std::vector<PointSum> sums;
  for (size_t k = 0; k < count; ++k) {
    auto checked = check_window_file(handed.deployment, handed.record, handed.mask, handed.proof, handed.pool);
    if (!checked) return error("an honest proof was rejected: {}", checked.error().detail);
    sums.push_back(std::move(checked->sum));
  }
  ZKAPEX_TRY(const std::vector<size_t> bad, find_false_var(sums, handed.generators, handed.pool));
  if (!bad.empty()) return error("an honest proof does not hold");
  return Done{};
}

Result<Outcome> run(const BatchFlags& flags) {
  ZKAPEX_TRY(const std::unique_ptr<WindowBench> bench, WindowBench::make(flags.window));
  ZKAPEX_CHECK(bench->register_client());
  ZKAPEX_CHECK(bench->window());
  const WindowBench::Handed handed = bench->handed();
  constexpr int kSingles = 5;
  double start = process_seconds();
  for (int k = 0; k < kSingles; ++k) {
    ZKAPEX_CHECK(verify_together(handed, 1));
  }
  const double single = (process_seconds() - start) / kSingles;
  nlohmann::ordered_json out{{"machine", machine_description()},
                             {"d", bench->figures()["d"]},
                             {"proof_bytes", bench->figures()["proof_bytes"]},
                             {"single_cpu_s", single},
                             {"batches", nlohmann::ordered_json::array()}};
  for (const size_t count : flags.counts) {
    start = process_seconds();
    ZKAPEX_CHECK(verify_together(handed, count));
    const double all = process_seconds() - start;
    out["batches"].push_back(
        {{"proofs", count}, {"cpu_s", all}, {"to_single_ones", all / (single * static_cast<double>(count))}});
  }
  if (flags.window.common.json) {
    fmt::print("{}\n", out.dump(2));
    return Outcome::kDone;
  }
  fmt::print("{} weights, proofs of {} bytes; one alone: {:.1f} ms of CPU time\n{:>8}  {:>12}  {:>14}\n",
             out["d"].get<uint64_t>(), out["proof_bytes"].get<uint64_t>(), 1e3 * single, "proofs", "ms for each",
             "to a single one");
  for (const auto& batch : out["batches"]) {
    const auto count = batch["proofs"].get<double>();
    fmt::print("{:>8}  {:>12.1f}  {:>14.2f}\n", count, 1e3 * batch["cpu_s"].get<double>() / count,
               batch["to_single_ones"].get<double>());
  }
  return Outcome::kDone;
}

}  // namespace

void add_bench_batch(Command bench, Action& action) {
  auto flags = std::make_shared<BatchFlags>();
  const Command command = bench.add_command("batch", "Verify many proofs together.");
  command.footer(
      "One proof is made, as bench window does, and verified alone and in batches, as verify --batch settles them. "
      "Times\n"
      "are CPU times of all threads, without reading files and without loading generators, which a batch does once.\n\n"
      "Examples:\n"
      "  zkapex bench batch --shape vit-b16 --layers 1\n"
      "  zkapex bench batch --shape vit-tiny --counts 1 8 64 --json");
  command.add_option("--counts", flags->counts, "How many proofs to verify together");
  flags->window.offer(command);
  command.runs(action, [flags] { return run(*flags); });
}

}  // namespace zkapex::cli
