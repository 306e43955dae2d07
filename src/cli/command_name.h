// A command's name with a line on it: for the program that has the command, and for zkapex, which hands over to that.
#pragma once

namespace zkapex::cli {

struct CommandName {
  const char* name;
  const char* about;
};

}  // namespace zkapex::cli
