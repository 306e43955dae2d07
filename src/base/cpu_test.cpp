#include "base/cpu.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

TEST(Cpu, NothingAskedForGivesTheBest) {
  for (const auto best : {InstructionSet::kPortable, InstructionSet::kAvx2}) {
    EXPECT_EQ(*choose_instruction_set("", best), best);
  }
}

TEST(Cpu, PortableIsAlwaysThere) {
  for (const auto best : {InstructionSet::kPortable, InstructionSet::kAvx2}) {
    EXPECT_EQ(*choose_instruction_set("portable", best), InstructionSet::kPortable);
  }
}

TEST(Cpu, Avx2OnlyWhereTheMachineHasIt) {
  EXPECT_EQ(*choose_instruction_set("avx2", InstructionSet::kAvx2), InstructionSet::kAvx2);
  const auto refused = choose_instruction_set("avx2", InstructionSet::kPortable);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("lacks AVX2"), std::string::npos) << refused.error().message;
}

TEST(Cpu, UnknownNamesAreRefused) {
  for (const auto* wanted : {"AVX2", "sse2", " portable"}) {
    const auto refused = choose_instruction_set(wanted, InstructionSet::kAvx2);
    ASSERT_FALSE(refused.ok()) << wanted;
    EXPECT_NE(refused.error().message.find(wanted), std::string::npos);
  }
}

TEST(Cpu, NamesAreWhatTheVariableTakes) {
  for (const auto set : {InstructionSet::kPortable, InstructionSet::kAvx2}) {
    EXPECT_EQ(*choose_instruction_set(name(set), InstructionSet::kAvx2), set);
  }
}

}  // namespace
}  // namespace zkapex
