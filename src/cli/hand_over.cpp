#include "cli/hand_over.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace zkapex::cli {

namespace {

// Comes back only with an error.
Result<Outcome> become(const char* name, char** argv) {
  std::error_code code;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", code);
  if (code) return error("cannot find out where this program lies: {}", code.message());
  const std::filesystem::path program = self.parent_path() / name;
  ::execv(program.c_str(), argv);
  return error("{}, which runs this command, cannot be started: {}", program.string(),
               std::generic_category().message(errno));
}

}  // namespace

void hand_over(Command parent, std::span<const CommandName> commands, const char* program, char** argv,
               Action& action) {
  for (const CommandName& command : commands) {
    const Command added = parent.add_command(command.name, command.about);
    added.takes_anything();  // it is the other program's to read
    added.runs(action, [program, argv] { return become(program, argv); });
  }
}

}  // namespace zkapex::cli
