#include "base/machine.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

TEST(Machine, FindsTheNameOfTheProcessor) {
  EXPECT_EQ(cpu_model("processor : 0\nmodel name\t: Some CPU @ 3 GHz\nflags : x\n"), "Some CPU @ 3 GHz");
  EXPECT_EQ(cpu_model("model name : last"), "last");
  EXPECT_EQ(cpu_model("model name\t:\nflags : x\n"), "");
  EXPECT_EQ(cpu_model("model name\nflags : x\n"), "");
  EXPECT_EQ(cpu_model("nothing"), "");
}

TEST(Machine, KnowsItsProcessors) { EXPECT_GE(machine_description().at("processors").get<unsigned>(), 1U); }

}  // namespace
}  // namespace zkapex
