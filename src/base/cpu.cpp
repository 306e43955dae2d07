#include "base/cpu.h"

#include <cstdlib>

namespace zkapex {

namespace {

Result<InstructionSet> choose_by_environment() {
  const char* wanted = std::getenv("ZKAPEX_CPU");
  return choose_instruction_set(wanted == nullptr ? "" : wanted, detect_instruction_set());
}

}  // namespace

std::string_view name(InstructionSet set) { return set == InstructionSet::kAvx2 ? "avx2" : "portable"; }

InstructionSet detect_instruction_set() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) {
    return InstructionSet::kAvx2;
  }
#endif
  return InstructionSet::kPortable;
}

Result<InstructionSet> choose_instruction_set(std::string_view wanted, InstructionSet best) {
  if (wanted.empty()) return best;
  if (wanted == "portable") return InstructionSet::kPortable;
  if (wanted != "avx2") return error("ZKAPEX_CPU={} is unknown; use portable or avx2, or unset it", wanted);
  if (best != InstructionSet::kAvx2) {
    return error("ZKAPEX_CPU=avx2, but this processor lacks AVX2, FMA or BMI2; use portable, or unset it");
  }
  return InstructionSet::kAvx2;
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
