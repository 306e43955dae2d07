#include "base/cpu.h"

#include <cstdlib>

namespace zkapex {

namespace {

Result<InstructionSet> choose_by_environment() {
  const char* wanted = std::getenv("ZKAPEX_CPU");
  return choose_instruction_set(wanted == nullptr ? "" : wanted, detect_instruction_set());
}

}  // namespace

std::string_view name(InstructionSet set) {
  switch (set) {
    case InstructionSet::kAvx512:
      return "avx512";
    case InstructionSet::kAvx2:
      return "avx2";
    case InstructionSet::kPortable:
      break;
  }
  return "portable";
}

std::vector<InstructionSet> instruction_sets_up_to(InstructionSet best) {
  std::vector<InstructionSet> out;
  for (const auto set : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    if (set <= best) out.push_back(set);
  }
  return out;
}

std::vector<InstructionSet> compiled_instruction_sets() {
#if defined(__x86_64__)
  return instruction_sets_up_to(InstructionSet::kAvx512);
#else
  return {InstructionSet::kPortable};
#endif
}

InstructionSet detect_instruction_set() {
#if defined(__x86_64__)
  const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2");
  const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                      __builtin_cpu_supports("avx512ifma") && __builtin_cpu_supports("avx512vnni");
  if (avx2) return avx512 ? InstructionSet::kAvx512 : InstructionSet::kAvx2;
#endif
  return InstructionSet::kPortable;
}

Result<InstructionSet> choose_instruction_set(std::string_view wanted, InstructionSet best) {
  if (wanted.empty()) return best;
  for (const InstructionSet set : instruction_sets_up_to(InstructionSet::kAvx512)) {
    if (name(set) != wanted) continue;
    if (set > best)
      return error("ZKAPEX_CPU={}, but this processor has {} at best; use that, or unset it", wanted, name(best));
    return set;
  }
  return error("ZKAPEX_CPU={} is unknown; use portable, avx2 or avx512, or unset it", wanted);
}

InstructionSet instruction_set() {
  static const InstructionSet chosen = [] {
    const auto choice = choose_by_environment();
    return choice.ok() ? *choice : detect_instruction_set();
  }();
  return chosen;
}

Status check_cpu_override() {
  ZKAPEX_CHECK(choose_by_environment());
  return Done{};
}

}  // namespace zkapex
