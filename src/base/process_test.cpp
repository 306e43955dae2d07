#include "base/process.h"

#include <gtest/gtest.h>

namespace zkapex {
namespace {

TEST(RunProgram, GivesItsOutput) {
  const Result<std::string> out = run_program("/bin/echo", {"one two", "$HOME"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(*out, "one two $HOME\n");
}

TEST(RunProgram, ReadsMoreThanAPipeHolds) {
  const Result<std::string> out = run_program("/bin/sh", {"-c", "head -c 300000 /dev/zero"});
  ASSERT_TRUE(out.ok()) << out.error().message;
  EXPECT_EQ(out->size(), 300000U);
}

TEST(RunProgram, AFailureIsAnError) {
  const Result<std::string> failed = run_program("/bin/sh", {"-c", "exit 3"});
  ASSERT_FALSE(failed.ok());
  EXPECT_EQ(failed.error().message, "'/bin/sh -c exit 3' ended with 3");
  const Result<std::string> killed = run_program("/bin/sh", {"-c", "kill -9 $$"});
  ASSERT_FALSE(killed.ok());
  EXPECT_NE(killed.error().message.find("signal 9"), std::string::npos) << killed.error().message;
  const Result<std::string> missing = run_program("/nowhere/program", {});
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("/nowhere/program cannot be started"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
