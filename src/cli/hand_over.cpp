#include "cli/hand_over.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "cli/learning/names.h"

namespace zkapex::cli {

namespace {

// Comes back only with an error.
Result<Outcome> become_learning_program(char** argv) {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return error("cannot find out where this program lies: {}", code.message());
  const std::filesystem::path program = self.parent_path() / "zkapex-learning";
  ::execv(program.c_str(), argv);
  return error("{}, which runs this command, cannot be started: {}", program.string(),
               std::generic_category().message(errno));
}

void add_command(CLI::App& parent, const CommandName& command, char** argv, Action& action) {
  CLI::App* added = parent.add_subcommand(command.name, command.about);
  added->prefix_command();   // whatever follows is the other program's to read,
  added->set_help_flag("");  // --help too
  added->callback([argv, &action] { action = [argv] { return become_learning_program(argv); }; });
}

}  // namespace

void add_learning_commands(CLI::App& app, char** argv, Action& action) {
  for (const CommandName& command : kLearningCommands) {
    add_command(app, command, argv, action);
    app.get_subcommand(command.name)->group("Learning");
  }
  add_command(*app.get_subcommand("bench"), kBenchLearning, argv, action);
}

}  // namespace zkapex::cli
