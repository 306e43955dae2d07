// Against a small server that keeps objects and checks every signature.
#include "service/s3_blobs.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>

#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

// The server lives as long as its standard input is open.
class S3Server {
 public:
  S3Server() {
    int to[2], from[2];
    EXPECT_TRUE(::pipe2(to, O_CLOEXEC) == 0 && ::pipe2(from, O_CLOEXEC) == 0);
    child_ = ::fork();
    if (child_ == 0) {
      ::dup2(to[0], STDIN_FILENO);
      ::dup2(from[1], STDOUT_FILENO);
      ::execlp("python3", "python3", "src/service/s3_testing.py", static_cast<char*>(nullptr));
      ::_exit(127);
    }
    ::close(to[0]);
    ::close(from[1]);
    input_ = to[1];
    std::FILE* answer = ::fdopen(from[0], "r");
    EXPECT_EQ(std::fscanf(answer, "%d", &port_), 1);  // NOLINT: of a program of our own
    std::fclose(answer);
  }
  ~S3Server() {
    ::close(input_);
    ::waitpid(child_, nullptr, 0);
  }
  S3Server(const S3Server&) = delete;
  S3Server& operator=(const S3Server&) = delete;

  [[nodiscard]] S3Settings settings() const {
    return {.endpoint = fmt::format("http://127.0.0.1:{}", port_),
            .bucket = "bucket",
            .region = "region-1",
            .access_key = "access",
            .secret_key = "secret/key",
            .scratch = ::testing::TempDir()};
  }

 private:
  pid_t child_ = -1;
  int input_ = -1, port_ = 0;
};

// "there", "not there", or what is wrong.
std::string looked_up(Blobs& blobs, std::string_view text) {
  const auto found = blobs.has({sha256(view(text)), text.size()});
  if (!found) return found.error().message;
  return *found ? "there" : "not there";
}

BlobName s3_name(std::string_view text) { return {sha256(view(text)), text.size()}; }

TEST(S3Blobs, ComeBackByTheirName) {
  const S3Server server;
  const auto blobs = *open_s3(server.settings());
  const std::string large(300'000, 'x');
  for (const std::string& text : {std::string("hello"), large, std::string()}) {
    EXPECT_EQ(looked_up(*blobs, text), "not there");
    EXPECT_NE(refusal(blobs->read(s3_name(text))).find("answered 404"), std::string::npos);
    const auto name = put_blob(*blobs, view(text));
    ASSERT_TRUE(name.ok()) << refusal(name);
    EXPECT_EQ(looked_up(*blobs, text), "there");
    const auto bytes = blobs->read(s3_name(text));
    ASSERT_TRUE(bytes.ok()) << refusal(bytes);
    EXPECT_EQ(std::string(bytes->begin(), bytes->end()), text);
  }
}

TEST(S3Blobs, AnUploadIsWhatWasAnnouncedOrNothing) {
  const S3Server server;
  const auto blobs = *open_s3(server.settings());
  const auto shorter = *blobs->write(s3_name("hello"));
  ASSERT_TRUE(shorter->write(view("hell")).ok());
  EXPECT_FALSE(*shorter->finish());
  const auto other = *blobs->write(s3_name("hello"));
  ASSERT_TRUE(other->write(view("hellO")).ok());
  EXPECT_FALSE(*other->finish());
  EXPECT_FALSE((*blobs->write(s3_name("hello")))->write(view("hello!")).ok());
  EXPECT_EQ(looked_up(*blobs, "hello"), "not there");
}

TEST(S3Blobs, AreRemoved) {
  const S3Server server;
  const auto blobs = *open_s3(server.settings());
  ASSERT_TRUE(put_blob(*blobs, view("hello")).ok());
  for (int round = 0; round < 2; ++round) {
    const Status removed = blobs->remove(s3_name("hello"));
    EXPECT_TRUE(removed.ok()) << refusal(removed);
    EXPECT_EQ(looked_up(*blobs, "hello"), "not there");
  }
  ASSERT_TRUE(put_blob(*blobs, view("please keep me")).ok());
  EXPECT_NE(refusal(blobs->remove(s3_name("please keep me"))).find("answered 503"), std::string::npos);
}

TEST(S3Blobs, TroubleIsAnError) {
  const S3Server server;
  const auto blobs = *open_s3(server.settings());
  EXPECT_NE(refusal(put_blob(*blobs, view("there is no room"))).find("answered 507"), std::string::npos);
  ASSERT_TRUE(put_blob(*blobs, view("please damage me")).ok());
  EXPECT_NE(refusal(blobs->read(s3_name("please damage me"))).find("damaged"), std::string::npos);
  S3Settings wrong = server.settings();
  wrong.secret_key = "another";
  const auto stranger = *open_s3(wrong);
  EXPECT_NE(refusal(put_blob(*stranger, view("hello"))).find("answered 403"), std::string::npos);
  EXPECT_NE(refusal(stranger->has(s3_name("hello"))).find("answered 403"), std::string::npos);
  wrong.endpoint = "http://127.0.0.1:1";
  EXPECT_NE(refusal((*open_s3(wrong))->has(s3_name("hello"))).find("failed"), std::string::npos);
}

TEST(S3Blobs, SettingsAreChecked) {
  S3Settings settings;
  settings.endpoint = "s3.example";
  EXPECT_NE(refusal(open_s3(settings)).find("no endpoint"), std::string::npos);
  settings.endpoint = "https://s3.example";
  EXPECT_NE(refusal(open_s3(settings)).find("needs a bucket"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
