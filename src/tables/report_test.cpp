#include "tables/report.h"

#include <gtest/gtest.h>

#include <cmath>

namespace zkapex {
namespace {

using nlohmann::json;

TEST(Spread, IsTheMeanAndTheDeviationOfASample) {
  const Spread three = spread({1, 2, 6});
  EXPECT_DOUBLE_EQ(three.mean, 3);
  EXPECT_DOUBLE_EQ(three.deviation, std::sqrt((4.0 + 1 + 9) / 2));
  EXPECT_EQ(three.count, 3U);
  EXPECT_DOUBLE_EQ(spread({5}).mean, 5);
  EXPECT_DOUBLE_EQ(spread({5}).deviation, 0);
  EXPECT_EQ(spread({}).count, 0U);
}

class ResultsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    results_.add("ours", 1, {{"accuracy", 0.5}, {"mia", {{"auc", 0.6}}}, {"missing", nullptr}});
    results_.add("ours", 2, {{"accuracy", 0.7}, {"mia", {{"auc", 0.8}}}, {"text", "no number"}});
    results_.add("exact", 1, {{"accuracy", 0.25}});
    results_.add("exact", 2, {{"other", 1}});
  }
  Results results_;
};

TEST_F(ResultsTest, FindsFiguresByPathAndSkipsWhatIsNot) {
  EXPECT_EQ(results_.seeds(), (std::vector<uint64_t>{1, 2}));
  EXPECT_DOUBLE_EQ(*results_.figure("ours", 2, "mia/auc"), 0.8);
  for (const char* key : {"missing", "text", "mia", "mia/none", "nothing"}) {
    EXPECT_FALSE(results_.figure("ours", 1, key) && results_.figure("ours", 2, key)) << key;
  }
  EXPECT_FALSE(results_.figure("nobody", 1, "accuracy"));
  EXPECT_NEAR(results_.spread_of("ours", "mia/auc")->mean, 0.7, 1e-12);
  EXPECT_EQ(results_.spread_of("exact", "accuracy")->count, 1U);
  EXPECT_FALSE(results_.spread_of("exact", "nothing"));
  results_.set("ours", 1, "gap", 0.25);
  results_.set("ours", 2, "gap", std::nullopt);
  EXPECT_EQ(results_.spread_of("ours", "gap")->count, 1U);
}

TEST_F(ResultsTest, TablesHaveThePapersNumbersBesideOurs) {
  const std::vector<TableColumn> columns = {{"accuracy", "accuracy", Unit::kPercent}, {"mia/auc", "AUC", Unit::kPlain}};
  const std::vector<TableRow> rows = {{"ours", "**zkapex**"}, {"exact", "exact"}};
  const json paper = {{"ours", {{"accuracy", "80.9 ± 0.2"}}}, {"exact", {{"accuracy", 81.5}}}};
  EXPECT_EQ(markdown_table(results_, columns, rows, paper),
            "| | accuracy (%) | paper | AUC |\n"
            "| --- | ---: | ---: | ---: |\n"
            "| **zkapex** | 60.0 ± 14.1 | 80.9 ± 0.2 | 0.7 ± 0.141 |\n"
            "| exact | 25.0 | 81.5 | – |\n");
  EXPECT_EQ(markdown_table(results_, columns, rows, json::object()),
            "| | accuracy (%) | AUC |\n"
            "| --- | ---: | ---: |\n"
            "| **zkapex** | 60.0 ± 14.1 | 0.7 ± 0.141 |\n"
            "| exact | 25.0 | – |\n");
  const auto data = table_as_json(results_, columns, rows, paper);
  EXPECT_DOUBLE_EQ(data["ours"]["accuracy"]["mean"].get<double>(), 0.6);
  EXPECT_EQ(data["ours"]["accuracy"]["seeds"], 2);
  EXPECT_EQ(data["ours"]["accuracy"]["paper"], "80.9 ± 0.2");
  EXPECT_TRUE(data["exact"]["mia/auc"].is_null());
}

TEST(TextOf, WritesEachUnit) {
  const auto one = [](double value) { return Spread{.mean = value, .deviation = 0, .count = 1}; };
  EXPECT_EQ(text_of(one(0.1234), Unit::kPercent), "12.3");
  EXPECT_EQ(text_of(one(24993), Unit::kMegabytes), "0.025");
  EXPECT_EQ(text_of(one(123456789), Unit::kMegabytes), "123.5");
  EXPECT_EQ(text_of(Spread{.mean = 123456789, .deviation = 1e6, .count = 2}, Unit::kMegabytes), "123.5 ± 1.0");
  EXPECT_EQ(text_of(one(1234), Unit::kKilobytes), "1.2");
  EXPECT_EQ(text_of(one(1.234), Unit::kSeconds), "1.23");
  EXPECT_EQ(text_of(one(1234), Unit::kScientific), "1.2e+03");
  EXPECT_EQ(text_of(std::nullopt, Unit::kPercent), "–");
}

}  // namespace
}  // namespace zkapex
