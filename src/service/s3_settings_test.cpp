#include "service/s3_settings.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>

#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

class S3SettingsTest : public ::testing::Test {
 protected:
  S3SettingsTest() {
    std::string pattern = ::testing::TempDir() + "/s3-settings-XXXXXX";
    EXPECT_NE(::mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    ::unsetenv("AWS_ACCESS_KEY_ID");
    ::unsetenv("AWS_SECRET_ACCESS_KEY");
  }
  ~S3SettingsTest() override {
    std::filesystem::remove_all(folder_);
    ::unsetenv("AWS_ACCESS_KEY_ID");
    ::unsetenv("AWS_SECRET_ACCESS_KEY");
  }

  static S3Location location(const std::string& credentials = {}) {
    return {"https://s3.example", "bucket", "region-1", credentials};
  }
  void write_keys(std::string_view text, bool secret = true) {
    ASSERT_TRUE(write_file(folder_ / "keys", view(text), {.overwrite = true, .secret = secret}).ok());
  }
  [[nodiscard]] Result<S3Settings> settings(const S3Location& where) const {
    return s3_settings_of(where, folder_, folder_);
  }

  Path folder_;
};

TEST_F(S3SettingsTest, ComeBackAsTheyWere) {
  const S3Location before = location("keys");
  const nlohmann::json json = before.json();
  JsonObject object = *JsonObject::open(json, "s3");
  EXPECT_EQ(*S3Location::read(object), before);
  nlohmann::json more = before.json();
  more["secret_key"] = "does not belong here";
  JsonObject with_more = *JsonObject::open(more, "s3");
  EXPECT_NE(refusal(S3Location::read(with_more)).find("unknown"), std::string::npos);
}

TEST_F(S3SettingsTest, KeysAreInAFileOfItsOwner) {
  write_keys(R"({"access_key": "a", "secret_key": "s"})");
  const auto made = settings(location("keys"));
  ASSERT_TRUE(made.ok()) << refusal(made);
  EXPECT_EQ(made->access_key, "a");
  EXPECT_EQ(made->secret_key, "s");
  EXPECT_EQ(made->endpoint, "https://s3.example");
  EXPECT_EQ(made->bucket, "bucket");
  EXPECT_EQ(made->region, "region-1");
  write_keys(R"({"access_key": "a", "secret_key": "s"})", false);
  EXPECT_NE(refusal(settings(location("keys"))).find("chmod 600"), std::string::npos);
  write_keys(R"({"access_key": "a", "secret_key": "s", "more": 1})");
  EXPECT_NE(refusal(settings(location("keys"))).find("unknown"), std::string::npos);
  write_keys(R"({"access_key": "a"})");
  EXPECT_NE(refusal(settings(location("keys"))).find("secret_key"), std::string::npos);
  EXPECT_NE(refusal(settings(location("elsewhere"))).find("cannot read"), std::string::npos);
}

TEST_F(S3SettingsTest, OrInTheEnvironment) {
  EXPECT_NE(refusal(settings(location())).find("AWS_ACCESS_KEY_ID"), std::string::npos);
  ::setenv("AWS_ACCESS_KEY_ID", "a", 1);
  EXPECT_NE(refusal(settings(location())).find("AWS_SECRET_ACCESS_KEY"), std::string::npos);
  ::setenv("AWS_SECRET_ACCESS_KEY", "s", 1);
  const auto made = settings(location());
  ASSERT_TRUE(made.ok()) << refusal(made);
  EXPECT_EQ(made->secret_key, "s");
}

}  // namespace
}  // namespace zkapex
