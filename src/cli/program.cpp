#include "cli/program.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <exception>
#include <sstream>
#include <system_error>

#include "base/cpu.h"
#include "base/temporaries.h"
#include "cli/usage.h"

namespace zkapex::cli {

namespace {

constexpr int kBadInput = 2;

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
  remove_temporaries_on_signals();
  ZKAPEX_TRY(const Verdict verdict, action());
  ZKAPEX_CHECK(flush_output());
  return verdict;
}

int run(int argc, char** argv, const std::string& footer, const std::function<void(CLI::App&, Action&)>& add_commands) {
  CLI::App app("Verifiable personalized machine unlearning", "zkapex");
  app.set_version_flag("--version", "zkapex " ZKAPEX_VERSION, "Print the version and exit");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(footer);
  app.require_subcommand(1);
  Action action;
  add_commands(app, action);

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

int run_program(int argc, char** argv, const std::string& footer,
                const std::function<void(CLI::App&, Action&)>& add_commands) {
  try {
    return run(argc, argv, footer, add_commands);
  } catch (const std::exception& e) {  // out of memory, stdout closed
    return fail(e.what());
  }
}

}  // namespace zkapex::cli
