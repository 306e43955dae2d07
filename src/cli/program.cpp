#include "cli/program.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <exception>
#include <sstream>
#include <string_view>
#include <system_error>

#include "base/cpu.h"
#include "base/json.h"
#include "base/temporaries.h"
#include "cli/usage.h"
#include "cli/version.h"

namespace zkapex::cli {

namespace {

constexpr int kBadInput = 2;

// One line on stderr and, for programs that read what --json prints, an object on stdout.
class Failure {
 public:
  Failure(int argc, char** argv)
      : json_(std::any_of(argv, argv + argc, [](const char* a) { return std::string_view(a) == "--json"; })) {}

  [[nodiscard]] int report(const std::string& message) const {
    // Nothing that throws: where stderr cannot be written, the exit status still tells.
    std::fputs(("zkapex: " + message + "\n").c_str(), stderr);
    // Text that is not UTF-8, from a path, must not turn one error into another.
    const auto lenient = nlohmann::json::error_handler_t::replace;
    if (json_) {
      const std::string text = nlohmann::json{{"error", message}}.dump(2, ' ', false, lenient) + "\n";
      std::fwrite(text.data(), 1, text.size(), stdout);
      std::fflush(stdout);
    }
    return kBadInput;
  }

  [[nodiscard]] bool as_json() const { return json_; }

 private:
  bool json_;
};

// What was printed must have arrived: a full disk behind a redirection is an error too.
Status flush_output() {
  if (std::fflush(stdout) == 0) return Done{};
  return error("cannot write the output: {}", std::generic_category().message(errno));
}

Result<Outcome> run_action(const Action& action) {
  ZKAPEX_CHECK(check_cpu_override());
  remove_temporaries_on_signals();
  ZKAPEX_TRY(const Outcome outcome, action());
  ZKAPEX_CHECK(flush_output());
  return outcome;
}

int end_of_output(const Failure& failure) {
  const Status flushed = flush_output();
  return flushed.ok() ? 0 : failure.report(flushed.error().message);
}

int print_version(const Failure& failure) {
  if (failure.as_json()) {
    if (const Status known = check_cpu_override(); !known) return failure.report(known.error().message);
    fmt::print("{}\n", version_as_json().dump(2));
  } else {
    fmt::print("{}\n", kVersionLine);
  }
  return end_of_output(failure);
}

int run(int argc, char** argv, const std::string& footer, const std::function<void(Command, Action&)>& add_commands,
        const Failure& failure) {
  CLI::App app("Verifiable personalized machine unlearning", "zkapex");
  app.set_version_flag("--version", kVersionLine, "Print the version and exit; with --json also what is in it");
  app.set_help_flag("-h,--help", "Print this help and exit");
  app.footer(footer);
  app.require_subcommand(1);
  Action action;
  add_commands(Command(app), action);

  try {
    app.parse(argc, argv);
  } catch (const CLI::CallForVersion&) {
    return print_version(failure);
  } catch (const CLI::Success& asked) {  // --help
    std::ostringstream text;
    app.exit(asked, text, text);
    fmt::print("{}", text.str());
    return end_of_output(failure);
  } catch (const CLI::ParseError& refusal) {
    return failure.report(explain_usage(app, {argv + 1, argv + argc}, refusal));
  }

  const auto outcome = run_action(action);
  return outcome.ok() ? static_cast<int>(*outcome) : failure.report(outcome.error().message);
}

}  // namespace

int run_program(int argc, char** argv, const std::string& footer,
                const std::function<void(Command, Action&)>& add_commands) {
  const Failure failure(argc, argv);
  try {
    return run(argc, argv, footer, add_commands, failure);
  } catch (const std::exception& e) {  // out of memory, stdout closed
    return failure.report(e.what());
  }
}

}  // namespace zkapex::cli
