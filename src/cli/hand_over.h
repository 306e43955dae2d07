// The learning commands as zkapex knows them: their names. A program beside it, zkapex-learning, has their options and
// runs them, because libtorch takes longer to load, and more memory, than most of the other commands.
#pragma once

#include "cli/command.h"

namespace zkapex::cli {

// Adds every learning command to `app` (and "learning" to its command "bench"); each, when named, turns this process
// into zkapex-learning with the same arguments. `argv` is main's.
void add_learning_commands(Command app, char** argv, Action& action);

}  // namespace zkapex::cli
