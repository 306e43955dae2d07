// zkapex-learning: what zkapex becomes when a learning command is named.
#include "cli/learning/common.h"
#include "cli/program.h"
#include "learning/blas_kernels.h"

namespace {

constexpr const char* kFooter =
    "Run these as commands of zkapex; zkapex --help has the others.\n\n"
    "Examples:\n"
    "  zkapex train --help           the options of a command";

}  // namespace

int main(int argc, char** argv) {
  using namespace zkapex::cli;
  zkapex::choose_blas_kernels(argv);
  return run_program(argc, argv, kFooter, [](Command app, Action& action) {
    add_split(app, action);
    add_tokenize(app, action);
    add_train_tokenizer(app, action);
    add_train(app, action);
    add_personalize(app, action);
    add_saliency(app, action);
    add_rehearse(app, action);
    add_fisher(app, action);
    add_baseline(app, action);
    add_evaluate(app, action);
    add_probe(app, action);
    add_experiment(app, action);
    add_demo(app, action);
    const Command bench = app.add_command("bench", "Measure");
    bench.needs_command();
    add_bench_learning(bench, action);
  });
}
