#include "base/outputs.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace zkapex {
namespace {

namespace fs = std::filesystem;

class OutputsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "zkapex_outputs_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ASSERT_TRUE(write_file(at("in"), view("input")).ok());
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] Path at(std::string_view name) const { return folder_ / name; }
  static std::string refusal(const std::vector<Path>& outputs, const std::vector<Path>& inputs, bool force = true) {
    const Status status = check_outputs(outputs, inputs, force);
    return status.ok() ? "" : status.error().message;
  }
  static bool says(const std::string& message, std::string_view part) {
    return message.find(part) != std::string::npos;
  }

  Path folder_;
};

TEST_F(OutputsTest, NewNamesAndNoNamesAreFine) {
  EXPECT_EQ(refusal({at("out"), {}, {}}, {at("in"), {}}, false), "");
  EXPECT_EQ(refusal({at("no/such/folder/out")}, {at("in")}, false), "");  // for the writer to refuse
}

TEST_F(OutputsTest, AnInputIsRefusedUnderEveryName) {
  EXPECT_TRUE(says(refusal({at("in")}, {at("in")}), "is an input of this command"));
  EXPECT_TRUE(says(refusal({folder_ / "." / "in"}, {at("in")}), "is an input"));
  fs::create_symlink("in", at("link"));
  EXPECT_TRUE(says(refusal({at("link")}, {at("in")}), "is an input"));
  EXPECT_TRUE(says(refusal({at("in")}, {at("link")}), "is an input"));
  fs::create_hard_link(at("in"), at("hard"));
  EXPECT_TRUE(says(refusal({at("hard")}, {at("in")}), "is an input"));
  // An input that is not there yet, or no longer, under the same name.
  EXPECT_TRUE(says(refusal({at("later")}, {folder_ / "." / "later"}), "is an input"));
}

TEST_F(OutputsTest, AFolderOrAnIndexStandsForTheCheckpointInIt) {
  ASSERT_TRUE(write_file(at("shard.safetensors"), view("shard")).ok());
  ASSERT_TRUE(write_file(at("index.json"), view("index")).ok());
  EXPECT_TRUE(says(refusal({at("shard.safetensors")}, {folder_}), "is an input"));
  EXPECT_TRUE(says(refusal({at("index.json")}, {folder_}), "is an input"));
  EXPECT_TRUE(says(refusal({at("shard.safetensors")}, {at("index.json")}), "is an input"));
  EXPECT_EQ(refusal({at("new.safetensors")}, {folder_, at("index.json")}), "");
  EXPECT_EQ(refusal({at("in")}, {folder_, at("index.json")}), "");
}

TEST_F(OutputsTest, TwoOutputsAreTwoFiles) {
  EXPECT_TRUE(says(refusal({at("a"), at("b"), folder_ / "." / "a"}, {}), "are one file"));
}

TEST_F(OutputsTest, WhatExistsIsReplacedOnlyByForce) {
  EXPECT_TRUE(says(refusal({at("in")}, {}, false), "--force"));
  EXPECT_EQ(refusal({at("in")}, {}, true), "");
  fs::create_symlink("nowhere", at("dangling"));
  EXPECT_TRUE(says(refusal({at("dangling")}, {}, false), "exists already"));
}

TEST_F(OutputsTest, RecordsOfClientsAndProvidersAreKept) {
  const auto refused = [](const Path& path) { return !check_no_record(path).ok(); };
  EXPECT_FALSE(refused({}));
  EXPECT_FALSE(refused(at("in")));
  EXPECT_FALSE(refused(at("nowhere")));
  for (const char* kind : {"ZKAPEXSC", "ZKAPEXRG", "ZKAPEXCM", "ZKAPEXRD"}) {
    ASSERT_TRUE(write_file(at("record"), view(kind), {.overwrite = true}).ok());
    EXPECT_TRUE(refused(at("record"))) << kind;
  }
  ASSERT_TRUE(write_file(at("deployment.zka"), view("ZKAPEXDP")).ok());
  EXPECT_FALSE(refused(at("deployment.zka")));
  for (const char* beside : {"secret.zka", "registered.zka"}) {
    ASSERT_TRUE(write_file(at(beside), view("x")).ok());
    EXPECT_TRUE(refused(at("deployment.zka"))) << beside;
    fs::remove(at(beside));
  }
  fs::create_directory(at("clients"));
  EXPECT_TRUE(refused(at("deployment.zka")));
  EXPECT_FALSE(refused(at("in")));
}

}  // namespace
}  // namespace zkapex
