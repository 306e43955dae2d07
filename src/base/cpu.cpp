#include "base/cpu.h"

#include <algorithm>
#include <cstdlib>

namespace zkapex {

namespace {

constexpr InstructionSet kAll[] = {InstructionSet::kPortable, InstructionSet::kNeon, InstructionSet::kAvx2,
                                   InstructionSet::kAvx512};

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
    case InstructionSet::kNeon:
      return "neon";
    case InstructionSet::kPortable:
      break;
  }
  return "portable";
}

std::vector<InstructionSet> instruction_sets_up_to(InstructionSet best) {
  std::vector<InstructionSet> out;
  for (const InstructionSet set : kAll) {
    if (set == best || (set < best && set != InstructionSet::kNeon)) out.push_back(set);
  }
  return out;
}

std::vector<InstructionSet> compiled_instruction_sets() {
#if defined(__x86_64__)
  return instruction_sets_up_to(InstructionSet::kAvx512);
#elif defined(__aarch64__)
  return instruction_sets_up_to(InstructionSet::kNeon);
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
  return InstructionSet::kPortable;
#elif defined(__aarch64__)
  return InstructionSet::kNeon;
#else
  return InstructionSet::kPortable;
#endif
}

Result<InstructionSet> choose_instruction_set(std::string_view wanted, InstructionSet best) {
  if (wanted.empty()) return best;
  const auto* known = std::find_if(std::begin(kAll), std::end(kAll), [&](auto set) { return name(set) == wanted; });
  if (known == std::end(kAll))
    return error("ZKAPEX_CPU={} is unknown; use portable, neon, avx2 or avx512, or unset it", wanted);
  const std::vector<InstructionSet> there = instruction_sets_up_to(best);
  if (std::find(there.begin(), there.end(), *known) == there.end())
    return error("ZKAPEX_CPU={}, but this processor has {} at best; use that, or unset it", wanted, name(best));
  return *known;
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
