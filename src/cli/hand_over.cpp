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

void add_command(Command parent, const CommandName& command, char** argv, Action& action) {
  const Command added = parent.add_command(command.name, command.about);
  added.takes_anything();  // it is the other program's to read
  added.runs(action, [argv] { return become_learning_program(argv); });
}

}  // namespace

void add_learning_commands(Command app, char** argv, Action& action) {
  for (const CommandName& command : kLearningCommands) {
    add_command(app, command, argv, action);
    app.command(command.name).group("Learning");
  }
  add_command(app.command("bench"), kBenchLearning, argv, action);
}

}  // namespace zkapex::cli
