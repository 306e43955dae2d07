#include "cli/usage.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace zkapex::cli {
namespace {

TEST(Usage, EditDistance) {
  EXPECT_EQ(edit_distance("", ""), 0U);
  EXPECT_EQ(edit_distance("", "abc"), 3U);
  EXPECT_EQ(edit_distance("abc", ""), 3U);
  EXPECT_EQ(edit_distance("verify", "verify"), 0U);
  EXPECT_EQ(edit_distance("verfy", "verify"), 1U);
  EXPECT_EQ(edit_distance("bnech", "bench"), 1U);
  EXPECT_EQ(edit_distance("kitten", "sitting"), 3U);
}

class UsageLine : public ::testing::Test {
 protected:
  UsageLine() {
    auto* bench = app_.add_subcommand("bench");
    bench->require_subcommand(1);
    bench->add_subcommand("kernels")->add_option("--threads", threads_);
    app_.add_subcommand("verify");
    app_.require_subcommand(1);
  }

  std::string explain(const std::vector<std::string>& arguments) {
    try {
      app_.parse(std::vector<std::string>(arguments.rbegin(), arguments.rend()));  // CLI11 takes them from the back
    } catch (const CLI::ParseError& refusal) {
      return explain_usage(app_, arguments, refusal);
    }
    return "accepted";
  }

  CLI::App app_{"", "zkapex"};
  int threads_ = 0;
};

TEST_F(UsageLine, UnknownCommandsGetTheNearest) {
  EXPECT_EQ(explain({"bnech"}), "'bnech' is not a command; did you mean zkapex bench?");
  EXPECT_EQ(explain({"verfiy", "--x"}), "'verfiy' is not a command; did you mean zkapex verify?");
  EXPECT_EQ(explain({"bench", "kernel"}), "'kernel' is not a command; did you mean zkapex bench kernels?");
  EXPECT_EQ(explain({"something"}), "'something' is not a command; see zkapex --help");
  EXPECT_EQ(explain({""}), "'' is not a command; see zkapex --help");
}

TEST_F(UsageLine, OtherMistakesAreNamedWithTheCommandToAskForHelp) {
  EXPECT_EQ(explain({}), "A subcommand is required; see zkapex --help");
  EXPECT_EQ(explain({"bench"}), "A subcommand is required; see zkapex bench --help");
  EXPECT_EQ(explain({"--x"}), "--x is not an option of zkapex; see zkapex --help");
  EXPECT_EQ(explain({"bench", "kernels", "--x"}),
            "--x is not an option of zkapex bench kernels; see zkapex bench kernels --help");
  EXPECT_EQ(explain({"bench", "kernels", "--x=1"}),
            "--x=1 is not an option of zkapex bench kernels; see zkapex bench kernels --help");
  EXPECT_EQ(explain({"bench", "kernels", "--threads=1", "--x"}),
            "The following argument was not expected: --x; see zkapex bench kernels --help");
  EXPECT_EQ(explain({"bench", "kernels", "--threads", "many"}),
            "Could not convert: --threads = many; see zkapex bench kernels --help");
}

}  // namespace
}  // namespace zkapex::cli
