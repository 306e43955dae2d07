#include "cli/command.h"

namespace zkapex::cli {

void CommonFlags::offer_json(Command command) { command.add_flag("--json", json, "Print JSON instead of text"); }

void CommonFlags::offer_force(Command command) {
  command.add_flag("--force", force, "Replace output files that exist");
}

void CommonFlags::offer_quiet(Command command) { command.add_flag("-q,--quiet", quiet, "Show no progress"); }

void CommonFlags::offer_threads(Command command) {
  command
      .add_option("--threads", threads,
                  "Threads to work with; 0 for one per processor (in training, one per processor that is free)")
      .between(0, 1024)
      .shows_default();
}

void CommonFlags::offer_memory(Command command) {
  command
      .add_parsed(
          "--memory",
          [this](const std::string& text) -> Status {
            ZKAPEX_TRY(memory, MemoryBudget::parse(text));
            return Done{};
          },
          "Memory to stay within, such as 80M or 2G; refused where that is too little")
      .type_name("SIZE");
}

void CommonFlags::offer_estimate(Command command) {
  command.add_flag("--estimate", estimate, "Tell what it would take, and stop: seconds, memory, bytes of the proof");
}

void CommonFlags::offer_all(Command command) {
  offer_json(command);
  offer_quiet(command);
  offer_force(command);
  offer_threads(command);
  offer_memory(command);
}

}  // namespace zkapex::cli
