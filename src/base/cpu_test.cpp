#include "base/cpu.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/result_testing.h"

namespace zkapex {
namespace {

TEST(Cpu, NothingAskedForGivesTheBest) {
  for (const auto best : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    EXPECT_EQ(*choose_instruction_set("", best), best);
  }
}

TEST(Cpu, PortableIsAlwaysThere) {
  for (const auto best : {InstructionSet::kPortable, InstructionSet::kAvx2, InstructionSet::kAvx512}) {
    EXPECT_EQ(*choose_instruction_set("portable", best), InstructionSet::kPortable);
  }
}

TEST(Cpu, SetsOnlyWhereTheMachineHasThem) {
  const std::vector<InstructionSet> sets = instruction_sets_up_to(InstructionSet::kAvx512);
  ASSERT_EQ(sets.size(), 3U);
  for (const InstructionSet best : sets) {
    for (const InstructionSet wanted : sets) {
      const auto chosen = choose_instruction_set(name(wanted), best);
      if (wanted <= best) {
        EXPECT_EQ(*chosen, wanted);
      } else {
        EXPECT_EQ(testing::refusal(chosen),
                  fmt::format("ZKAPEX_CPU={}, but this processor has {} at best; use that, or unset it", name(wanted),
                              name(best)));
      }
    }
  }
}

TEST(Cpu, SetsInOrder) {
  EXPECT_EQ(instruction_sets_up_to(InstructionSet::kPortable), std::vector{InstructionSet::kPortable});
  EXPECT_EQ(instruction_sets_up_to(InstructionSet::kAvx2),
            (std::vector{InstructionSet::kPortable, InstructionSet::kAvx2}));
}

TEST(Cpu, WhatIsUsedIsCompiled) {
  const std::vector<InstructionSet> compiled = compiled_instruction_sets();
  EXPECT_EQ(compiled.front(), InstructionSet::kPortable);
  EXPECT_LE(instruction_set(), compiled.back());
}

TEST(Cpu, UnknownNamesAreRefused) {
  for (const auto* wanted : {"AVX2", "sse2", " portable"}) {
    const auto refused = choose_instruction_set(wanted, InstructionSet::kAvx512);
    ASSERT_FALSE(refused.ok()) << wanted;
    EXPECT_NE(refused.error().message.find(wanted), std::string::npos);
  }
}

}  // namespace
}  // namespace zkapex
