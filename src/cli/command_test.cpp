#include "cli/command.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace zkapex::cli {
namespace {

class Flags : public ::testing::Test {
 protected:
  Flags() { flags_.offer_all(Command(app_)); }

  // The refusal, or "" for none.
  std::string parse(const std::string& arguments) {
    try {
      app_.parse(arguments);
    } catch (const CLI::ParseError& refusal) {
      return refusal.what();
    }
    return "";
  }

  CLI::App app_{"", "test"};
  CommonFlags flags_;
};

TEST_F(Flags, DefaultsAreOff) {
  EXPECT_EQ(parse(""), "");
  EXPECT_FALSE(flags_.json || flags_.force || flags_.quiet);
  EXPECT_EQ(flags_.threads, 0U);
  EXPECT_FALSE(flags_.memory.has_value());
}

TEST_F(Flags, AllAtOnce) {
  EXPECT_EQ(parse("--json --force -q --threads 3 --memory 512M"), "");
  EXPECT_TRUE(flags_.json && flags_.force && flags_.quiet);
  EXPECT_EQ(flags_.threads, 3U);
  ASSERT_TRUE(flags_.memory.has_value());
  EXPECT_EQ(flags_.memory->bytes(), uint64_t{512} << 20);
  EXPECT_EQ(flags_.progress_style(), ProgressStyle::kSilent);
}

TEST_F(Flags, BadValuesAreNamed) {
  EXPECT_NE(parse("--threads 1025").find("--threads"), std::string::npos);
  EXPECT_NE(parse("--threads -1").find("--threads"), std::string::npos);
  EXPECT_NE(parse("--memory lots").find("'lots' is not a size"), std::string::npos);
  EXPECT_NE(parse("--memory 0").find("--memory"), std::string::npos);
}

}  // namespace
}  // namespace zkapex::cli
