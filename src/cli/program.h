// A program of commands: parses the command line, runs what it names, and ends as command.h says.
#pragma once

#include <functional>
#include <string>

#include "cli/command.h"

namespace zkapex::cli {

// The exit status. An error is one line on stderr; with --json on the command line it is also, on stdout, an object
// with "error". `add_commands` registers what the program can do; `footer` ends its help.
[[nodiscard]] int run_program(int argc, char** argv, const std::string& footer,
                              const std::function<void(Command, Action&)>& add_commands);

}  // namespace zkapex::cli
