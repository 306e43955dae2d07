#include "data/splits.h"

#include <fmt/format.h>

#include <fstream>
#include <set>

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

Catalog flat_catalog(int64_t samples) {
  Catalog out;
  out.samples = samples;
  out.classes = 4;
  for (int64_t k = 0; k < samples; ++k) out.labels.push_back(k % 4);
  return out;
}

TEST(Splits, AreDisjointAndTheSameForTheSameSeed) {
  SplitOptions options;
  options.data = *DataSource::parse("idx:data#train");
  options.test_data = *DataSource::parse("idx:data#t10k");
  options.personal = 100, options.personal_test = 50, options.validation = 30, options.test = 40;
  options.personal_validation = 20;
  const std::map<std::string, Catalog> catalogs = {{"idx:data#train", flat_catalog(1000)},
                                                   {"idx:data#t10k", flat_catalog(100)}};
  for (const std::string forget : {"random:0.1", "class:2", "classes:0,3"}) {
    options.forget = forget;
    const auto splits = make_splits(options, catalogs);
    ASSERT_TRUE(splits.ok()) << splits.error().message;
    EXPECT_TRUE(splits->check().ok());
    EXPECT_EQ(splits->sets.at("train").indices.size(), 830U);
    EXPECT_EQ(splits->sets.at("personal").source.text(), "idx:data#train+sketch");
    if (forget == "random:0.1") {
      EXPECT_EQ(splits->sets.at("forget").indices.size(), 83U);
    } else {
      for (const int64_t k : splits->sets.at("forget").indices)
        EXPECT_TRUE(forget == "class:2" ? k % 4 == 2 : k % 4 == 0 || k % 4 == 3);
      for (const int64_t k : splits->sets.at("retain").indices)
        EXPECT_TRUE(forget == "class:2" ? k % 4 != 2 : k % 4 == 1 || k % 4 == 2);
      EXPECT_FALSE(splits->sets.at("forget-test").indices.empty());
    }
    EXPECT_EQ(make_splits(options, catalogs)->sets.at("forget").indices, splits->sets.at("forget").indices);
  }
  const auto first = make_splits(options, catalogs);
  options.seed = 2;
  const auto second = make_splits(options, catalogs);
  for (const char* set : {"train", "personal", "personal-test", "test"})
    EXPECT_NE(second->sets.at(set).indices, first->sets.at(set).indices) << set;
  for (const char* set : {"validation", "personal-validation"})
    EXPECT_EQ(second->sets.at(set).indices, first->sets.at(set).indices) << set;
}

TEST(Splits, GroupsAreNotCut) {
  Catalog files;
  files.samples = 60;
  for (int64_t k = 0; k < 60; ++k) files.groups.push_back(k / 3);
  for (int k = 0; k < 20; ++k) files.names.push_back(fmt::format("f{}", k));
  SplitOptions options;
  options.data = *DataSource::parse("text:code");
  options.personal = 7, options.test = 10;
  const TemporaryDirectory directory("forget_list");
  const auto splits = make_splits(options, {{"text:code", files}});
  ASSERT_TRUE(splits.ok()) << splits.error().message;
  EXPECT_EQ(splits->sets.at("personal").indices.size(), 9U);
  std::set<int64_t> groups;
  for (const int64_t k : splits->sets.at("test").indices) groups.insert(k / 3);
  for (const int64_t k : splits->sets.at("train").indices) EXPECT_FALSE(groups.contains(k / 3));

  const int64_t kept = splits->sets.at("train").indices[0] / 3;
  std::ofstream(directory.path() / "list") << "f" << kept << "\n";
  options.forget = "class:1";
  EXPECT_NE(refusal(make_splits(options, {{"text:code", files}})).find("needs data with classes"), std::string::npos);
  options.forget = "files:" + (directory.path() / "list").string();
  const auto by_file = make_splits(options, {{"text:code", files}});
  ASSERT_TRUE(by_file.ok()) << by_file.error().message;
  EXPECT_EQ(by_file->sets.at("forget").indices, (std::vector<int64_t>{3 * kept, 3 * kept + 1, 3 * kept + 2}));
  std::ofstream(directory.path() / "list") << "stranger\n";
  EXPECT_NE(refusal(make_splits(options, {{"text:code", files}})).find("'stranger'"), std::string::npos);
}

TEST(Splits, RefuseWhatCannotBe) {
  SplitOptions options;
  options.data = *DataSource::parse("idx:data#train");
  const std::map<std::string, Catalog> catalogs = {{"idx:data#train", flat_catalog(100)}};
  const auto message = [&](const std::string& forget) {
    options.forget = forget;
    const auto splits = make_splits(options, catalogs);
    return splits.ok() ? std::string() : splits.error().message;
  };
  EXPECT_EQ(message("class:3"), "");
  for (const char* absent : {"class:4", "class:-1"})
    EXPECT_NE(message(absent).find("does not exist"), std::string::npos) << absent;
  for (const char* wordy : {"class:x", "class:1x", "classes:1,"})
    EXPECT_NE(message(wordy).find("not a whole number"), std::string::npos) << wordy;
  EXPECT_NE(message("random:0.001").find("the forget set 'random:0.001' is empty"), std::string::npos);
  EXPECT_NE(message("classes:0,1,2,3").find("all of the data"), std::string::npos);
  for (const char* none : {"random:2", "random:0", "random:0.1x", "random:x"})
    EXPECT_NE(message(none).find("fraction"), std::string::npos) << none;
  for (const char* unknown : {"everything", "colour:3", "class:"})
    EXPECT_NE(message(unknown).find("not a forget set"), std::string::npos) << unknown;
  EXPECT_NE(message("files:list").find("data that lies in files"), std::string::npos);
  options.test = 101;
  EXPECT_NE(message("class:1").find("not enough samples for 'test'"), std::string::npos);
}

TEST(Splits, FilesAreCheckedWhenLoaded) {
  const TemporaryDirectory directory("splits");
  const auto path = directory.path() / "splits.json";
  SplitOptions options;
  options.data = *DataSource::parse("idx:data#train");
  options.personal = 10, options.test = 10, options.personal_validation = 5;
  const auto splits = make_splits(options, {{"idx:data#train", flat_catalog(100)}});
  ASSERT_TRUE(splits->save(path).ok());
  const auto loaded = Splits::load(path);
  ASSERT_TRUE(loaded.ok()) << loaded.error().message;
  EXPECT_EQ(loaded->sets.at("personal").indices, splits->sets.at("personal").indices);
  EXPECT_NE(loaded->get("nothing").error().message.find("personal-test"), std::string::npos);

  for (const std::string set : {"personal", "personal-validation", "personal-test", "validation", "test"}) {
    auto document = *read_json(path);
    document["sets"][set]["indices"] = document["sets"]["forget"]["indices"];
    const auto refused = Splits::parse(document);
    ASSERT_FALSE(refused.ok()) << set;
    EXPECT_EQ(refused.error().message, fmt::format("'train' and '{}' share samples", set));
    ASSERT_TRUE(write_json(path.string() + "-shared", document).ok());
    EXPECT_NE(Splits::load(path.string() + "-shared").error().message.find("splits.json-shared"), std::string::npos);
  }
}

TEST(Splits, SetsThatCannotBeAreNamed) {
  using nlohmann::json;
  const auto set = [](const char* part, const std::vector<int64_t>& indices) {
    return json{{"source", std::string("idx:d#") + part}, {"indices", indices}};
  };
  const json good = {{"format", "zkapex-splits"},
                     {"version", 1},
                     {"seed", 1},
                     {"forget", "class:1"},
                     {"sets",
                      {{"train", set("train", {0, 1, 2, 3})},
                       {"forget", set("train", {1})},
                       {"retain", set("train", {0, 2, 3})},
                       {"personal", set("train", {4, 5})}}}};
  const auto message = [&](const char* pointer, const json& value) {
    json changed = good;
    changed[json::json_pointer(pointer)] = value;
    return refusal(Splits::parse(changed));
  };
  EXPECT_EQ(message("/seed", 2), "(accepted)");
  EXPECT_NE(message("/format", "other").find("not a split file"), std::string::npos);
  EXPECT_NE(message("/version", 2).find("not a split file"), std::string::npos);
  EXPECT_NE(message("/sets/personal/source", "csv:d").find("not a data source"), std::string::npos);
  for (const std::vector<int64_t>& bad : {std::vector<int64_t>{5, 4}, {4, 4}, {-1, 4}})
    EXPECT_NE(message("/sets/personal/indices", bad).find("not in increasing order"), std::string::npos);
  EXPECT_NE(message("/sets/train/indices", json::array()).find("the set 'train' is empty"), std::string::npos);
  EXPECT_NE(message("/sets/forget/indices", {2}).find("do not make up"), std::string::npos);
  for (const char* name : {"/sets/forget/source", "/sets/retain/source"})
    EXPECT_NE(message(name, "idx:d#t10k").find("do not make up"), std::string::npos) << name;
}

TEST(Splits, AFileOfAnotherKindIsToldWhatItIs) {
  const TemporaryDirectory directory("splits");
  const auto path = directory.path() / "splits.json";
  const auto message = [&](std::string_view text) {
    EXPECT_TRUE(write_text(path, text).ok());
    return refusal(Splits::load(path));
  };
  EXPECT_TRUE(message("ZKAPEXDP...").ends_with("splits.json: this is a deployment, not a split file"));
  EXPECT_TRUE(message("").ends_with("splits.json: this is not a split file"));
  EXPECT_NE(message("{\"a\"").find("not JSON"), std::string::npos);
}

TEST(DataSource, Words) {
  for (const char* text : {"idx:/a/b#train", "idx:/a#t10k+sketch", "images:c", "images:c+sketch", "text:d/e"}) {
    const auto source = DataSource::parse(text);
    ASSERT_TRUE(source.ok()) << text;
    EXPECT_EQ(source->text(), text);
  }
  for (const char* text : {"", "idx:/a", "idx:/a#", "images:", "text:d+sketch", "csv:d", "plain"})
    EXPECT_FALSE(DataSource::parse(text).ok()) << text;
}

}  // namespace
}  // namespace zkapex
