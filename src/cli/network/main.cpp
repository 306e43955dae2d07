// zkapex-network: what zkapex becomes when one of these commands is named.
#include "base/memory.h"
#include "cli/command.h"
#include "cli/program.h"

namespace {

constexpr const char* kFooter =
    "Run these as commands of zkapex; zkapex --help has the others.\n\n"
    "Examples:\n"
    "  zkapex agent --help           the options of a command";

}  // namespace

int main(int argc, char** argv) {
  using namespace zkapex::cli;
  zkapex::give_memory_back_early();
  return run_program(argc, argv, kFooter, [](Command app, Action& action) {
    add_agent(app, action);
    add_audit(app, action);
#ifdef ZKAPEX_SERVICE
    add_provider(app, action);
    const Command bench = app.add_command("bench", "Measure");
    bench.needs_command();
    add_bench_service(bench, action);
    add_bench_capacity(bench, action);
#endif
  });
}
