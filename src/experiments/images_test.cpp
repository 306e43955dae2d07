#include "experiments/images.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/result_testing.h"
#include "data/folders_testing.h"
#include "learning/synthetic.h"

namespace zkapex {
namespace {

using testing::refusal;

class ImagesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    write_synthetic_idx(folder_.path(), "train", 900, 1);
    write_synthetic_idx(folder_.path(), "t10k", 300, 2);
    deal_ = {.data = folder_.path(),
             .seed = 5,
             .clients = 2,
             .train = 300,
             .validation = 60,
             .test = 120,
             .personal = 60,
             .personal_validation = 20,
             .personal_test = 30,
             .forget = "class:1",
             .spare_percent = 100};
    for (const char* part : {"train", "t10k"}) {
      const DataSource source{DataSource::Kind::kIdx, folder_.path(), part, Style::kPhoto};
      labels_[part] = read_catalog(source, image_format())->labels;
    }
  }
  // Whether none, or all, of a set's images are of the class.
  bool none(const SampleSet& set, int64_t label) {
    return std::ranges::none_of(set.indices, [&](int64_t k) { return label_of(set, k) == label; });
  }
  bool all(const SampleSet& set, int64_t label) {
    return std::ranges::all_of(set.indices, [&](int64_t k) { return label_of(set, k) == label; });
  }
  int64_t label_of(const SampleSet& set, int64_t index) {
    return labels_.at(set.source.part)[static_cast<size_t>(index)];
  }

  TemporaryDirectory folder_{"images"};
  ImageDeal deal_;
  std::map<std::string, std::vector<int64_t>> labels_;
};

TEST_F(ImagesTest, ClientsHaveSketchesOfTheirOwnWithoutTheForgottenClass) {
  const auto dealt = deal_images(deal_);
  ASSERT_TRUE(dealt.ok()) << dealt.error().message;
  ASSERT_EQ(dealt->size(), 2U);
  std::vector<int64_t> drawn;
  for (const Splits& own : *dealt) {
    for (const auto& [set, size] : {std::pair("personal", 60U), {"personal-validation", 20U}, {"personal-test", 30U}}) {
      const SampleSet& sketches = own.sets.at(set);
      EXPECT_EQ(sketches.indices.size(), size);
      EXPECT_EQ(sketches.source.style, Style::kSketch);
      EXPECT_TRUE(none(sketches, 1));
      drawn.insert(drawn.end(), sketches.indices.begin(), sketches.indices.end());
    }
    EXPECT_TRUE(all(own.sets.at("forget"), 1));
    EXPECT_TRUE(none(own.sets.at("retain"), 1));
    for (const char* set : {"forget-test", "forget-validation"}) {
      EXPECT_FALSE(own.sets.at(set).indices.empty());
      EXPECT_TRUE(all(own.sets.at(set), 1));
    }
  }
  const std::vector<int64_t>& photos = dealt->front().sets.at("train").indices;
  EXPECT_EQ(photos.size(), 300U);
  drawn.insert(drawn.end(), photos.begin(), photos.end());
  std::ranges::sort(drawn);
  EXPECT_EQ(std::ranges::adjacent_find(drawn), drawn.end()) << "an image is used twice";
}

TEST_F(ImagesTest, WhatIsForgottenDoesNotChangeWhatIsTrainedOn) {
  deal_.clients = 1;
  deal_.spare_percent = 400;  // for two of three classes
  const Splits by_class = deal_images(deal_)->front();
  deal_.forget = "classes:0,1";
  const Splits two = deal_images(deal_)->front();
  deal_.forget = "random:0.1";
  const Splits random = deal_images(deal_)->front();
  for (const char* set : {"train", "test", "validation"}) {
    EXPECT_EQ(by_class.sets.at(set).indices, two.sets.at(set).indices);
    EXPECT_EQ(by_class.sets.at(set).indices, random.sets.at(set).indices);
  }
  EXPECT_TRUE(all(two.sets.at("personal"), 2));
  EXPECT_EQ(random.sets.at("forget").indices.size(), 30U);
  EXPECT_EQ(random.sets.at("forget-test").indices, random.sets.at("test").indices);
  EXPECT_FALSE(none(random.sets.at("personal"), 1));
}

TEST_F(ImagesTest, NoSeedUsesWhatAnotherChoosesSettingsOn) {
  const Splits chosen_on = deal_images(deal_)->front();
  for (const uint64_t seed : {6, 7, 8}) {
    deal_.seed = seed;
    const auto dealt = deal_images(deal_);
    ASSERT_TRUE(dealt.ok()) << dealt.error().message;
    for (const Splits& other : *dealt) {
      EXPECT_NE(other.sets.at("test").indices, chosen_on.sets.at("test").indices);
      for (const char* set : {"validation", "personal-validation"}) {
        for (const char* used : {"train", "test", "personal", "personal-test"}) {
          const SampleSet &a = chosen_on.sets.at(set), &b = other.sets.at(used);
          std::vector<int64_t> both;
          if (a.source.same_data(b.source))
            std::ranges::set_intersection(a.indices, b.indices, std::back_inserter(both));
          EXPECT_TRUE(both.empty()) << set << " " << used;
        }
      }
    }
  }
}

TEST_F(ImagesTest, SaysWhatIsMissing) {
  deal_.spare_percent = 0;
  EXPECT_NE(refusal(deal_images(deal_)).find("not enough images"), std::string::npos);
  deal_.data = folder_.path() / "nowhere";
  EXPECT_NE(refusal(deal_images(deal_)).find("--data"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
