#include "base/memory.h"
#include "cli/command.h"
#include "cli/hand_over.h"
#include "cli/learning/names.h"
#include "cli/network/names.h"
#include "cli/program.h"

namespace {

constexpr const char* kFooter =
    "A deployment, from beginning to end (p: the provider, c: a client):\n"
    "  p  zkapex deploy    --model theta0.safetensors --preset vit -o deployment.zka\n"
    "  c  zkapex curvature --deployment deployment.zka --model theta.safetensors --fisher F.safetensors -o store.zka\n"
    "  c  zkapex register  --deployment deployment.zka --base theta0.safetensors --model theta.safetensors \\\n"
    "                      --curvature store.zka --client ID -o client\n"
    "  p  zkapex admit     --ledger ledger --deployment deployment.zka --base theta0.safetensors \\\n"
    "                      --registration client/registration.zka\n"
    "  p  zkapex mask      --deployment deployment.zka --scores S.safetensors --ratio 0.04 --window 2026-11 -o "
    "psi.zka\n"
    "  p  zkapex publish   --ledger ledger --mask psi.zka\n"
    "  c  zkapex unlearn   --client client --mask psi.zka -o unlearned.safetensors --proof proof.zka\n"
    "  p  zkapex verify    --ledger ledger --mask psi.zka --proof proof.zka\n"
    "  c  zkapex settle    --client client --accepted\n\n"
    "Examples:\n"
    "  zkapex bench kernels          how fast this machine computes what proofs are made of\n"
    "  zkapex verify --help          the options of a command\n\n"
    "Exit status: 0 done or accepted, 1 rejected, 2 bad input or usage: one line on stderr, and with --json also\n"
    "{\"error\": ...} on stdout.\n"
    "Environment: ZKAPEX_CPU=portable does without vector instructions, avx2 without wider ones; avx512, or neon on "
    "arm64,\n"
    "insists on them;\n"
    "generators of commitments are kept in $ZKAPEX_CACHE, else $XDG_CACHE_HOME/zkapex, else ~/.cache/zkapex.";

constexpr const char* kNetworkProgram = "zkapex-network";
[[maybe_unused]] constexpr const char* kLearningProgram = "zkapex-learning";

// The help's parts: who runs what.
void group(zkapex::cli::Command app, const char* name, std::initializer_list<const char*> commands) {
  for (const char* command : commands) app.command(command).group(name);
}

}  // namespace

int main(int argc, char** argv) {
  using namespace zkapex::cli;
  zkapex::give_memory_back_early();
  return run_program(argc, argv, kFooter, [&](Command app, Action& action) {
    add_deploy(app, action);
    add_admit(app, action);
    add_mask(app, action);
    add_curvature(app, action);
    add_register(app, action);
    add_unlearn(app, action);
    add_update(app, action);
    add_settle(app, action);
    add_publish(app, action);
    add_verify(app, action);
    hand_over(app, std::array{kAgent}, kNetworkProgram, argv, action);
    add_inspect(app, action);
    hand_over(app, std::array{kAudit}, kNetworkProgram, argv, action);
    add_bench(app, action);
    group(app, "Provider", {"deploy", "admit", "mask", "publish", "verify"});
    group(app, "Client", {"curvature", "register", "unlearn", "update", "settle", "agent"});
    group(app, "Anyone", {"inspect", "audit"});
    group(app, "Measuring", {"bench"});
#ifdef ZKAPEX_SERVICE
    hand_over(app, std::array{kProvider}, kNetworkProgram, argv, action);
    group(app, "Provider", {"provider"});
    hand_over(app.command("bench"), kServiceBenches, kNetworkProgram, argv, action);
#endif
#ifdef ZKAPEX_LEARNING
    hand_over(app, kLearningCommands, kLearningProgram, argv, action);
    for (const CommandName& command : kLearningCommands) group(app, "Learning", {command.name});
    hand_over(app.command("bench"), kLearningBenches, kLearningProgram, argv, action);
#endif
  });
}
