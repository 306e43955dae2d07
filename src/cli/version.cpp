#include "cli/version.h"

#include "base/cpu.h"

namespace zkapex::cli {

nlohmann::ordered_json version_as_json() {
  auto compiled = nlohmann::ordered_json::array();
  for (const InstructionSet set : compiled_instruction_sets()) compiled.push_back(name(set));
  return {{"version", ZKAPEX_VERSION},
          {"features", {{"learning", bool{ZKAPEX_HAS_LEARNING}}, {"service", bool{ZKAPEX_HAS_SERVICE}}}},
          {"instruction_sets", {{"compiled", compiled}, {"in_use", name(instruction_set())}}}};
}

}  // namespace zkapex::cli
