#include "base/cpu.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/result_testing.h"

namespace zkapex {
namespace {

constexpr InstructionSet kAll[] = {InstructionSet::kPortable, InstructionSet::kNeon, InstructionSet::kAvx2,
                                   InstructionSet::kAvx512};

TEST(Cpu, NothingAskedForGivesTheBest) {
  for (const InstructionSet best : kAll) EXPECT_EQ(*choose_instruction_set("", best), best);
}

TEST(Cpu, PortableIsAlwaysThere) {
  for (const InstructionSet best : kAll) {
    EXPECT_EQ(*choose_instruction_set("portable", best), InstructionSet::kPortable);
  }
}

TEST(Cpu, SetsOnlyWhereTheMachineHasThem) {
  for (const InstructionSet best : kAll) {
    const std::vector<InstructionSet> there = instruction_sets_up_to(best);
    for (const InstructionSet wanted : kAll) {
      const auto chosen = choose_instruction_set(name(wanted), best);
      if (std::find(there.begin(), there.end(), wanted) != there.end()) {
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
  using enum InstructionSet;
  EXPECT_EQ(instruction_sets_up_to(kPortable), std::vector{kPortable});
  EXPECT_EQ(instruction_sets_up_to(kNeon), (std::vector{kPortable, kNeon}));
  EXPECT_EQ(instruction_sets_up_to(kAvx2), (std::vector{kPortable, kAvx2}));
  EXPECT_EQ(instruction_sets_up_to(kAvx512), (std::vector{kPortable, kAvx2, kAvx512}));
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
