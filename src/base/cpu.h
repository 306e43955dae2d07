// Which of the implementations compiled in this machine can run.
#pragma once

#include <string_view>
#include <vector>

#include "base/result.h"

namespace zkapex {

// In the order of what they can: on x86-64 each has all of those before it but kNeon, which is arm64's. The operating
// system saves the wide registers.
enum class InstructionSet {
  kPortable,
  kNeon,    // what every 64-bit ARM has
  kAvx2,    // AVX2, FMA and BMI2
  kAvx512,  // and AVX-512 F, BW, DQ, VL, IFMA and VNNI
};

[[nodiscard]] std::string_view name(InstructionSet set);
// What a machine with `best` can run, `best` last.
[[nodiscard]] std::vector<InstructionSet> instruction_sets_up_to(InstructionSet best);

// Those that this program has implementations for, whatever machine it runs on.
[[nodiscard]] std::vector<InstructionSet> compiled_instruction_sets();

// The best set of this machine, or the one that the environment variable ZKAPEX_CPU names: "portable", "neon", "avx2"
// or "avx512". The variable is read once. A value that is unknown or that this machine lacks is ignored here; a program
// refuses it by `check_cpu_override` when it starts.
[[nodiscard]] InstructionSet instruction_set();
[[nodiscard]] Status check_cpu_override();

// What the two above are made of: a choice by name, "" for the best there is, given what the machine has.
[[nodiscard]] InstructionSet detect_instruction_set();
[[nodiscard]] Result<InstructionSet> choose_instruction_set(std::string_view wanted, InstructionSet best);

}  // namespace zkapex
