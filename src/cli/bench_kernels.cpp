// zkapex bench kernels
#include <fmt/format.h>
#include <sodium/crypto_hash_sha512.h>

#include <memory>

#include "base/hash.h"
#include "cli/bench.h"
#include "cli/command.h"

namespace zkapex::cli {

namespace {

KernelFigure bench_sha512(const Effort& effort) {
  const Bytes message(1024, 0x5a);
  Sha512::Digest digest;
  return {.name = "sha512_1024",
          .ns = median_ns(effort, 1, [&] { keep(digest = sha512(message)); }),
          .baseline = "libsodium",
          .baseline_ns = median_ns(effort, 1, [&] {
            crypto_hash_sha512(digest.data(), message.data(), message.size());
            keep(digest);
          })};
}

}  // namespace

void add_bench(CLI::App& parent, Action& action) {
  CLI::App* bench = parent.add_subcommand("bench", "Measure this machine");
  bench->require_subcommand(1);

  struct Options {
    CommonFlags common;
    bool quick = false;
  };
  const auto options = std::make_shared<Options>();
  CLI::App* kernels = bench->add_subcommand("kernels", "Time each kernel against its baseline, one thread");
  options->common.offer_json(*kernels);
  kernels->add_flag("--quick", options->quick, "Shorter samples: less exact, a tenth of the time");
  kernels->footer(
      "A ratio of 2 means twice as fast as the baseline.\n\n"
      "Examples:\n"
      "  zkapex bench kernels                  a table\n"
      "  zkapex bench kernels --json --quick   for scripts\n"
      "  ZKAPEX_CPU=portable zkapex bench kernels\n"
      "                                        without vector instructions");
  kernels->callback([options, &action] {
    action = [options]() -> Result<Verdict> {
      const Effort effort = options->quick ? kQuick : kThorough;
      const std::vector<KernelFigure> figures{bench_sha512(effort)};
      fmt::print("{}", options->common.json ? figures_as_json(figures) : figures_as_text(figures));
      return Verdict::kDone;
    };
  });
}

}  // namespace zkapex::cli
