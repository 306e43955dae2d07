#include "cli/work.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdlib>

namespace zkapex::cli {
namespace {

TEST(Report, QuotesWhatATerminalMightTakeForSomethingElse) {
  Report report{.headline = "done"};
  report.values["window"] = "w";
  report.values["path"] = "a\x1b[2J\n";
  report.values["other"] = "a b";
  EXPECT_EQ(report_as_text(report), "done\n  window  \"w\"\n  path    \"a\\x1b[2J\\x0a\"\n  other   a b\n");
}

TEST(Report, SaysTheSameToPeopleAndPrograms) {
  Report report{.headline = "done"};
  report.values["proof_bytes"] = 2048;
  report.values["client"] = "alice";
  report.values["whole"] = true;
  report.values["ratio"] = 0.25;
  report.values["windows"] = {"w1", "w2"};
  report.values["seconds"] = timings_as_json({{{"prove", 1.5}, {"write", 0.5}}});
  EXPECT_EQ(report_as_text(report),
            "done\n"
            "  proof size   2.0 KiB (2048 bytes)\n"
            "  client       \"alice\"\n"
            "  whole        yes\n"
            "  ratio        0.25\n"
            "  windows      w1, w2\n"
            "  seconds      prove 1.5, write 0.5\n");
  report.values = {{"windows", nlohmann::ordered_json::array()}};
  EXPECT_EQ(report_as_text(report), "done\n  windows  none\n");
}

TEST(CacheFolder, IsTheFirstThatTheEnvironmentNames) {
  ::setenv("ZKAPEX_CACHE", "/a", 1);
  ::setenv("XDG_CACHE_HOME", "/b", 1);
  ::setenv("HOME", "/c", 1);
  EXPECT_EQ(cache_folder(), "/a");
  ::unsetenv("ZKAPEX_CACHE");
  EXPECT_EQ(cache_folder(), "/b/zkapex");
  ::setenv("XDG_CACHE_HOME", "", 1);
  EXPECT_EQ(cache_folder(), "/c/.cache/zkapex");
  ::unsetenv("HOME");
  EXPECT_EQ(cache_folder(), "");
}

TEST(Outputs, AreNotReplacedUnlessForced) {
  EXPECT_TRUE(check_output({}, false).ok());
  EXPECT_TRUE(check_output("no-such-file-anywhere", false).ok());
  const Status refused = check_output(::testing::TempDir(), false);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("--force"), std::string::npos);
  EXPECT_TRUE(check_output(::testing::TempDir(), true).ok());
}

TEST(Outputs, InputsAndSecretsAreNeverReplaced) {
  const Path path = Path(::testing::TempDir()) / fmt::format("zkapex-output-{}", ::getpid());
  const auto refusal = [&](const std::vector<Path>& inputs) {
    const Status status = check_output(path, true, inputs);
    return status.ok() ? "" : status.error().message;
  };
  ASSERT_TRUE(write_file(path, view("ZKAPEXS")).ok());
  EXPECT_EQ(refusal({}), "");
  EXPECT_NE(refusal({"other", path}).find("is an input"), std::string::npos);
  ASSERT_TRUE(write_file(path, view("ZKAPEXSC and more"), {.overwrite = true}).ok());
  EXPECT_NE(refusal({}).find("secret state"), std::string::npos);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace zkapex::cli
