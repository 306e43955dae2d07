#include "tables/config.h"

#include <gtest/gtest.h>

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"

namespace zkapex {
namespace {

using nlohmann::json;

class ConfigTest : public ::testing::Test {
 protected:
  std::filesystem::path write(const std::string& name, const json& document) {
    EXPECT_TRUE(write_json(folder_ / name, document).ok());
    return folder_ / name;
  }
  std::string refusal(const json& document) {
    return testing::refusal(ExperimentConfig::load(write("x.json", document), "x", false));
  }

  TemporaryDirectory directory_{"config"};
  const std::filesystem::path folder_ = directory_.path();
};

TEST_F(ConfigTest, SettingsAreMergedOntoTheBaseAndQuickOntoBoth) {
  write("base.json", {{"experiment", "base"},
                      {"settings", {{"model", {{"hidden", 96}, {"layers", 4}}}, {"list", {1, 2, 3}}}},
                      {"quick", {{"model", {{"hidden", 8}}}, {"epochs", 1}}}});
  const auto file = write("x.json", {{"experiment", "x"},
                                     {"base", "base.json"},
                                     {"settings", {{"model", {{"layers", 2}}}, {"list", {9}}, {"epochs", 30}}},
                                     {"quick", {{"list", {7}}}},
                                     {"paper", {{"row", {{"column", 1}}}}},
                                     {"notes", {"one"}}});
  const auto whole = ExperimentConfig::load(file, "x", false);
  ASSERT_TRUE(whole.ok()) << whole.error().message;
  EXPECT_EQ(whole->settings, json({{"model", {{"hidden", 96}, {"layers", 2}}}, {"list", {9}}, {"epochs", 30}}));
  EXPECT_EQ(whole->paper["row"]["column"], 1);
  EXPECT_EQ(whole->notes, std::vector<std::string>{"one"});
  const auto quick = ExperimentConfig::load(file, "x", true);
  ASSERT_TRUE(quick.ok());
  EXPECT_EQ(quick->settings, json({{"model", {{"hidden", 8}, {"layers", 2}}}, {"list", {7}}, {"epochs", 1}}));
}

TEST_F(ConfigTest, RefusesWhatItDoesNotUnderstand) {
  EXPECT_NE(refusal({{"experiment", "x"}, {"settings", json::object()}, {"sttings", 1}}).find("sttings"),
            std::string::npos);
  EXPECT_NE(refusal({{"settings", json::object()}}).find("experiment is missing"), std::string::npos);
  EXPECT_NE(refusal({{"experiment", "x"}}).find("settings is missing"), std::string::npos);
  EXPECT_NE(refusal({{"experiment", "x"}, {"settings", 3}}).find("must be an object"), std::string::npos);
  EXPECT_NE(refusal({{"experiment", "y"}, {"settings", json::object()}}).find("of the experiment 'y', not of 'x'"),
            std::string::npos);
  EXPECT_NE(refusal(json::array()).find("must be an object"), std::string::npos);
  EXPECT_NE(refusal({{"experiment", "x"}, {"base", "none.json"}, {"settings", json::object()}}).find("none.json"),
            std::string::npos);
  write("base.json", {{"experiment", "base"}, {"base", "x.json"}, {"settings", json::object()}});
  EXPECT_NE(
      refusal({{"experiment", "x"}, {"base", "base.json"}, {"settings", json::object()}}).find("cannot have a base"),
      std::string::npos);
  ASSERT_TRUE(write_text(folder_ / "broken.json", "{").ok());
  EXPECT_FALSE(ExperimentConfig::load(folder_ / "broken.json", "x", false).ok());
}

TEST_F(ConfigTest, IsFoundBesideTheProgramOrSaysWhereItLooked) {
  std::filesystem::create_directories(folder_ / "experiments");
  write("experiments/some.json", {});
  const auto found = find_config("some", folder_ / "build" / "zkapex");
  ASSERT_TRUE(found.ok());
  EXPECT_EQ(*found, folder_ / "experiments" / "some.json");
  const auto missing = find_config("other", folder_ / "build" / "zkapex");
  ASSERT_FALSE(missing.ok());
  EXPECT_NE(missing.error().message.find("--config"), std::string::npos);
}

TEST(ConfigReader, ReadsByTypeAndKeepsTheFirstError) {
  const json object = {{"count", 3}, {"rate", 0.5}, {"whole", 2}, {"name", "a"}, {"list", {1, 2}}, {"on", true}};
  int64_t count = 0;
  double rate = 0, whole = 0;
  std::string name;
  std::vector<double> list;
  bool on = false;
  int absent = 7;
  ConfigReader reader(object, "here");
  reader.read("count", count).read("rate", rate).read("whole", whole).read("name", name).read("list", list);
  reader.read("on", on).read_if_there("absent", absent);
  EXPECT_TRUE(reader.finish().ok());
  EXPECT_EQ(count, 3);
  EXPECT_EQ(rate, 0.5);
  EXPECT_EQ(whole, 2);
  EXPECT_EQ(name, "a");
  EXPECT_EQ(list, (std::vector<double>{1, 2}));
  EXPECT_TRUE(on);
  EXPECT_EQ(absent, 7);
}

TEST(ConfigReader, RefusesValuesThatWouldChange) {
  const auto refused = [](const json& value, auto target) {
    const json object = {{"v", value}};
    ConfigReader reader(object, "here");
    return !reader.read("v", target).finish().ok();
  };
  EXPECT_TRUE(refused(1.5, int64_t{}));
  EXPECT_TRUE(refused(true, int32_t{}));
  EXPECT_TRUE(refused(-1, uint64_t{}));
  EXPECT_TRUE(refused(4294967296U, uint32_t{}));
  EXPECT_TRUE(refused("1", double{}));
  EXPECT_TRUE(refused(1, std::string()));
  EXPECT_TRUE(refused({1, "x"}, std::vector<double>()));
  EXPECT_TRUE(refused(0, bool{}));
  EXPECT_FALSE(refused(1, double{}));
}

TEST(ConfigReader, NamesTheMemberThatIsWrong) {
  const json object = {{"a", 1}, {"b", 2}};
  int a = 0, c = 0;
  ConfigReader missing(object, "settings.x");
  EXPECT_EQ(testing::refusal(missing.read("a", a).read("c", c).finish()), "settings.x.c is missing");
  ConfigReader unknown(object, "settings.x");
  EXPECT_EQ(testing::refusal(unknown.read("a", a).finish()), "settings.x has 'b', which means nothing here");
  ConfigReader bad(object, "settings.x");
  bad.read("a", a).read("b", c).require(a > 1, "a", "must be more");
  bad.read("c", c);
  EXPECT_EQ(testing::refusal(bad.finish()), "settings.x.a must be more");
}

}  // namespace
}  // namespace zkapex
