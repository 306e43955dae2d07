#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <sstream>
#include <system_error>

#include "base/cpu.h"
#include "cli/command.h"
#include "cli/usage.h"

namespace zkapex::cli {
namespace {

constexpr int kBadInput = 2;

constexpr const char* kFooter =
    "A deployment, from beginning to end (p: the provider, c: a client):\n"
    "  p  zkapex deploy    --model theta0.safetensors --preset vit -o deployment.zka\n"
    "  c  zkapex curvature --deployment deployment.zka --model theta.safetensors --fisher F.safetensors -o store.zka\n"
    "  c  zkapex register  --deployment deployment.zka --model theta.safetensors --curvature store.zka --client ID "
    "-o client\n"
    "  p  zkapex mask      --deployment deployment.zka --scores S.safetensors --ratio 0.04 --window 2026-11 -o "
    "psi.zka\n"
    "  c  zkapex unlearn   --client client --mask psi.zka -o unlearned.safetensors --proof proof.zka\n"
    "  p  zkapex verify    --deployment deployment.zka --registration client/registration.zka --mask psi.zka "
    "--proof proof.zka\n\n"
    "Examples:\n"
    "  zkapex bench kernels          how fast this machine computes what proofs are made of\n"
    "  zkapex verify --help          the options of a command\n\n"
    "Exit status: 0 done or accepted, 1 rejected, 2 bad input or usage.\n"
    "Environment: ZKAPEX_CPU=portable does without vector instructions; generators of commitments are kept in\n"
    "$ZKAPEX_CACHE, else $XDG_CACHE_HOME/zkapex, else ~/.cache/zkapex.";

int fail(const std::string& message) {
  fmt::print(stderr, "zkapex: {}\n", message);
  return kBadInput;
}

// What was printed must have arrived: a full disk behind a redirection is an error too.
Status flush_output() {
  if (std::fflush(stdout) == 0) return Done{};
  return error("cannot write the output: {}", std::generic_category().message(errno));
}

Result<Verdict> run_action(const Action& action) {
  ZKAPEX_CHECK(check_cpu_override());
  ZKAPEX_TRY(const Verdict verdict, action());
  ZKAPEX_CHECK(flush_output());
  return verdict;
}

int run(int argc, char** argv) {
  CLI::App app("Verifiable personalized machine unlearning", "zkapex");
  app.set_version_flag("--version", "zkapex " ZKAPEX_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(kFooter);
  app.require_subcommand(1);

  Action action;
  add_deploy(app, action);
  add_mask(app, action);
  add_curvature(app, action);
  add_register(app, action);
  add_unlearn(app, action);
  add_verify(app, action);
  add_inspect(app, action);
  add_bench(app, action);
#ifdef ZKAPEX_LEARNING
  add_learning(app, action);
  add_demo(app, action);
#endif

  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& asked) {  // --help, --version
    std::ostringstream text;
    app.exit(asked, text, text);
    fmt::print("{}", text.str());
    const Status flushed = flush_output();
    return flushed.ok() ? 0 : fail(flushed.error().message);
  } catch (const CLI::ParseError& refusal) {
    return fail(explain_usage(app, {argv + 1, argv + argc}, refusal));
  }

  const auto verdict = run_action(action);
  return verdict.ok() ? static_cast<int>(*verdict) : fail(verdict.error().message);
}

}  // namespace
}  // namespace zkapex::cli

int main(int argc, char** argv) {
  try {
    return zkapex::cli::run(argc, argv);
  } catch (const std::exception& e) {  // out of memory, stdout closed
    return zkapex::cli::fail(e.what());
  }
}
