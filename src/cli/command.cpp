#include "cli/command.h"

namespace zkapex::cli {

void CommonFlags::offer_json(CLI::App& command) { command.add_flag("--json", json, "Print JSON instead of text"); }

void CommonFlags::offer_force(CLI::App& command) {
  command.add_flag("--force", force, "Replace output files that exist");
}

void CommonFlags::offer_quiet(CLI::App& command) { command.add_flag("-q,--quiet", quiet, "Show no progress"); }

void CommonFlags::offer_threads(CLI::App& command) {
  command
      .add_option("--threads", threads,
                  "Threads to work with; 0 for one per processor (in training, one per processor that is free)")
      ->check(CLI::Range(0U, 1024U))
      ->capture_default_str();
}

void CommonFlags::offer_memory(CLI::App& command) {
  command
      .add_option_function<std::string>(
          "--memory",
          [this](const std::string& text) {
            auto budget = MemoryBudget::parse(text);
            if (!budget.ok()) throw CLI::ValidationError("--memory", budget.error().message);
            memory = *budget;
          },
          "Memory to stay within, such as 512M or 2G")
      ->type_name("SIZE");
}

void CommonFlags::offer_all(CLI::App& command) {
  offer_json(command);
  offer_quiet(command);
  offer_force(command);
  offer_threads(command);
  offer_memory(command);
}

}  // namespace zkapex::cli
