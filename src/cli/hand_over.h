// Commands that zkapex knows by name only. Programs beside it have their options and run them: what they load,
// libtorch or the libraries of networks and databases, takes longer, and more memory, than most other commands.
#pragma once

#include <span>

#include "cli/command.h"
#include "cli/command_name.h"

namespace zkapex::cli {

// Adds each of `commands` to `parent`; when one is named, this process becomes `program`, in the same folder, with the
// same arguments. `argv` is main's.
void hand_over(Command parent, std::span<const CommandName> commands, const char* program, char** argv, Action& action);

}  // namespace zkapex::cli
