// zkapex bench kernels
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/cpu.h"
#include "cli/bench.h"
#include "cli/command.h"
#include "cli/kernel_figures.h"

namespace zkapex::cli {

namespace {

constexpr const char* kFooter =
    "Times are CPU time of one thread for one operation, medians of several samples. A ratio of 2 means twice as fast\n"
    "as the baseline: libsodium where it has the operation, else the same without vector instructions.\n\n"
    "  field_mul       a product mod 2^255 - 19, of many independent ones\n"
    "  point_madd      an affine point added to a point, of many independent ones\n"
    "  commit_int8     an entry of rows committed to; 65,536 rows of 4,096 uniform entries, part of whose columns are\n"
    "                  timed, with all tables that are built for them\n"
    "  commit_bit      a bit of the same rows\n"
    "  commit_factor   an entry of as many lines of factors of the curvature, which are small in many columns\n"
    "  scalar_mul      a product mod the order of the group, one by one, of many independent ones\n"
    "  scalar_product  the same as the rounds of a sumcheck multiply, in vectors where there are any\n"
    "  scalar_fold     the same in a round of a sumcheck that folds a table of 2,048 scalars, with reading and "
    "writing\n"
    "  sumcheck_pair   a pair of entries of two tables of 4,096 scalars, in a round that folds both and sums their "
    "product\n"
    "  fold_int8       an entry of an 8,192 x 4,096 matrix multiplied from the left by field elements\n"
    "  project_int8    an entry of rows that a 192 x 1,024 matrix of 0 and ±1 projects\n"
    "  msm_131072      a point of a sum of 131,072 multiples; baseline: one scalar multiplication\n"
    "  decompress      32 bytes checked and turned into a point, of 1,024\n"
    "  hash_to_group   64 bytes mapped to an encoded point, of 1,024\n\n"
    "Examples:\n"
    "  zkapex bench kernels                  a table\n"
    "  zkapex bench kernels --json --quick   for scripts\n"
    "  zkapex bench kernels --only scalar_mul --only msm_131072\n"
    "  ZKAPEX_CPU=avx2 zkapex bench kernels  without AVX-512; portable: without vector instructions";

struct BenchKernelsOptions {
  CommonFlags common;
  bool quick = false;
  std::vector<std::string> only;

  [[nodiscard]] bool selects(const KernelBench& bench) const {
    return only.empty() || std::find(only.begin(), only.end(), bench.name) != only.end();
  }
};

Result<Outcome> run(const BenchKernelsOptions& options) {
  std::vector<KernelBench> selected;
  std::copy_if(kernel_benches().begin(), kernel_benches().end(), std::back_inserter(selected),
               [&](const KernelBench& bench) { return options.selects(bench); });

  std::vector<KernelFigure> figures;
  {
    Progress progress(options.common.progress_style(), "bench kernels", "kernels", selected.size());
    for (const KernelBench& bench : selected) {
      ZKAPEX_TRY(KernelFigure figure, bench.measure(bench.name, options.quick ? kQuick : kThorough));
      figures.push_back(std::move(figure));
      progress.advance();
    }
  }
  if (options.common.json) {
    fmt::print("{}", figures_as_json(figures));
  } else {
    fmt::print("Instruction set: {}. CPU time of one thread.\n\n{}", name(instruction_set()), figures_as_text(figures));
  }
  return Outcome::kDone;
}

}  // namespace

void add_bench(Command parent, Action& action) {
  const Command bench = parent.add_command("bench", "Measure this machine");
  bench.needs_command();

  const auto options = std::make_shared<BenchKernelsOptions>();
  const Command kernels = bench.add_command("kernels", "Time each kernel against its baseline, one thread");
  options->common.offer_json(kernels);
  options->common.offer_quiet(kernels);
  kernels.add_flag("--quick", options->quick, "Fewer and shorter samples: less exact, a tenth of the time");
  std::vector<std::string> names;
  for (const KernelBench& known : kernel_benches()) names.push_back(known.name);
  kernels.add_option("--only", options->only, "Only this kernel; may be repeated")
      .type_name("NAME")
      .repeated()
      .one_of(names);
  kernels.footer(kFooter);
  kernels.runs(action, [options] { return run(*options); });

  add_bench_argument(bench, action);
  add_bench_layer(bench, action);
  add_bench_window(bench, action);
  add_bench_batch(bench, action);
}

}  // namespace zkapex::cli
