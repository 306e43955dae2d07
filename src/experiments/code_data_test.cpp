#include "experiments/code_data.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

// Three languages with 20 files of five windows each.
Catalog catalog() {
  Catalog out;
  for (const char* language : {"a", "b", "mine"}) {
    for (int file = 0; file < 20; ++file) {
      out.names.push_back(fmt::format("{}/{}", language, file));
      for (int window = 0; window < 5; ++window) out.groups.push_back(static_cast<int64_t>(out.names.size()) - 1);
    }
  }
  out.samples = static_cast<int64_t>(out.groups.size());
  return out;
}

CodeDeal deal() {
  return {.languages = {"a", "b"},
          .personal_language = "mine",
          .forget_language = "b",
          .forget_part = 0.25,
          .train = 60,
          .validation = 8,
          .test = 15,
          .personal = 40,
          .personal_validation = 10,
          .personal_test = 10};
}

const DataSource kSource{DataSource::Kind::kText, "code", "", Style::kPhoto};

TEST(CodeData, SetsAreWholeFilesOfTheirLanguages) {
  const Catalog files = catalog();
  const Result<Splits> splits = deal_code(deal(), kSource, files, 1);
  ASSERT_TRUE(splits.ok()) << splits.error().message;
  const auto sizes = [&](const char* set) { return splits->sets.at(set).indices.size(); };
  EXPECT_EQ(sizes("train"), 120U);
  EXPECT_EQ(sizes("forget"), 15U);
  EXPECT_EQ(sizes("retain"), 105U);
  EXPECT_EQ(sizes("test"), 30U);
  EXPECT_EQ(sizes("forget-test"), 15U);
  EXPECT_EQ(sizes("validation"), 20U);  // eight windows are two files of each language
  EXPECT_EQ(sizes("forget-validation"), 10U);
  EXPECT_EQ(sizes("personal"), 40U);
  const auto only = [&](const char* set, const std::string& language) {
    for (const int64_t k : splits->sets.at(set).indices) {
      EXPECT_TRUE(files.names[static_cast<size_t>(files.groups[static_cast<size_t>(k)])].starts_with(language));
    }
  };
  only("forget", "b/");
  only("forget-test", "b/");
  only("personal", "mine/");
  // Held-out files are those of nobody's training.
  std::vector<int64_t> both;
  std::ranges::set_intersection(splits->sets.at("forget-test").indices, splits->sets.at("train").indices,
                                std::back_inserter(both));
  EXPECT_TRUE(both.empty());
}

TEST(CodeData, SeedsDealDifferently) {
  const Catalog files = catalog();
  const auto forget = [&](uint64_t seed) { return deal_code(deal(), kSource, files, seed)->sets.at("forget").indices; };
  EXPECT_EQ(forget(1), forget(1));
  EXPECT_NE(forget(1), forget(2));
  // But settings are chosen on the same files.
  for (const char* set : {"validation", "forget-validation", "personal-validation"}) {
    EXPECT_EQ(deal_code(deal(), kSource, files, 1)->sets.at(set).indices,
              deal_code(deal(), kSource, files, 2)->sets.at(set).indices);
  }
}

TEST(CodeData, TooFewFilesAreAnError) {
  CodeDeal much = deal();
  much.personal = 90;
  EXPECT_EQ(refusal(deal_code(much, kSource, catalog(), 1)), "mine has only 80 windows left for 'personal', not 90");
  much.test = 90;
  EXPECT_EQ(refusal(deal_code(much, kSource, catalog(), 1)), "a has no windows left to train on");
}

TEST(CodeData, NoLanguageIsBothParties) {
  CodeDeal shared = deal();
  shared.personal_language = shared.languages.front();
  EXPECT_EQ(refusal(deal_code(shared, kSource, catalog(), 1)), "'train' and 'personal' share samples");
}

}  // namespace
}  // namespace zkapex
