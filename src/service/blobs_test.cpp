// Files by their digest, and a database without room.
#include "service/blobs.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

#include "base/result_testing.h"
#include "service/store.h"

namespace zkapex {
namespace {

using testing::refusal;

class BlobsTest : public ::testing::Test {
 protected:
  BlobsTest() : folder_(Path(::testing::TempDir()) / fmt::format("zkapex-blobs-{}", ::getpid())) {
    std::filesystem::remove_all(folder_);
    blobs_ = *open_blob_folder(folder_);
  }
  ~BlobsTest() override { std::filesystem::remove_all(folder_); }

  static BlobName name_of(std::string_view text) { return {sha256(view(text)), text.size()}; }
  [[nodiscard]] Path file_of(std::string_view text) const {
    const std::string hex = to_hex(sha256(view(text)));
    return folder_ / "sha256" / hex.substr(0, 2) / hex.substr(2, 2) / hex;
  }
  [[nodiscard]] size_t files() const {
    size_t out = 0;
    for (const auto& item : std::filesystem::recursive_directory_iterator(folder_))
      out += item.is_regular_file() ? 1 : 0;
    return out;
  }

  Path folder_;
  std::unique_ptr<Blobs> blobs_;
};

TEST_F(BlobsTest, ComeBackByTheirName) {
  EXPECT_FALSE(*blobs_->has(name_of("hello")));
  EXPECT_EQ(*put_blob(*blobs_, view("hello")), name_of("hello"));
  EXPECT_EQ(*put_blob(*blobs_, view("hello")), name_of("hello"));
  EXPECT_TRUE(*blobs_->has(name_of("hello")));
  const Bytes bytes = *blobs_->read(name_of("hello"));
  EXPECT_EQ(std::string(bytes.begin(), bytes.end()), "hello");
  EXPECT_TRUE(std::filesystem::exists(file_of("hello")));
  EXPECT_EQ(files(), 1U);
  EXPECT_TRUE((*open_blob_folder(folder_))->read(name_of("hello")).ok());
}

TEST_F(BlobsTest, AnUploadIsWhatWasAnnouncedOrNothing) {
  const auto uploaded = [&](const BlobName& promised, std::string_view sent) -> std::string {
    const auto writer = *blobs_->write(promised);
    for (const char c : sent) {
      if (const Status ok = writer->write(view(std::string_view(&c, 1))); !ok) return ok.error().message;
    }
    return *writer->finish() ? "kept" : "refused";
  };
  EXPECT_EQ(uploaded(name_of("hello"), "hell"), "refused");
  EXPECT_EQ(uploaded(name_of("hello"), "hellO"), "refused");
  EXPECT_EQ(uploaded(name_of("hello"), "hello!"), "more bytes than the 5 announced");
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(uploaded(name_of("hello"), "hello"), "kept");
  EXPECT_EQ(files(), 1U);
}

TEST_F(BlobsTest, DamageIsNoticedAndMended) {
  ASSERT_TRUE(put_blob(*blobs_, view("hello")).ok());
  ASSERT_TRUE(write_file(file_of("hello"), view("hellO"), {.overwrite = true}).ok());
  EXPECT_NE(refusal(blobs_->read(name_of("hello"))).find("damaged"), std::string::npos);
  ASSERT_TRUE(write_file(file_of("hello"), view("hell"), {.overwrite = true}).ok());
  EXPECT_NE(refusal(blobs_->read(name_of("hello"))).find("damaged"), std::string::npos);
  EXPECT_FALSE(*blobs_->has(name_of("hello")));
  EXPECT_FALSE(blobs_->read(name_of("nothing")).ok());
  ASSERT_TRUE(put_blob(*blobs_, view("hello")).ok());
  EXPECT_TRUE(blobs_->read(name_of("hello")).ok());
}

// Runs `work` in a process that may write no file beyond so many bytes.
template <class Work>
int without_room(rlim_t bytes, const Work& work) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{bytes, bytes};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    ::_exit(work());
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

TEST_F(BlobsTest, AFullDiskIsAnErrorAndLeavesNothing) {
  const std::string large(100'000, 'x');
  EXPECT_EQ(without_room(50'000, [&] { return put_blob(*blobs_, view(large)).ok() ? 1 : 0; }), 0);
  EXPECT_FALSE(*blobs_->has(name_of(large)));
  EXPECT_EQ(files(), 0U);
  EXPECT_TRUE(put_blob(*blobs_, view(large)).ok());
}

TEST_F(BlobsTest, ADatabaseWithoutRoomKeepsWhatItHad) {
  const std::string address = (folder_ / "store.sqlite").string();
  const auto add = [&](int from, int to) -> int {
    Result<Store> store = Store::open(address);
    if (!store) return from;
    for (int k = from; k < to; ++k) {
      const std::string name = fmt::format("code {}", k);
      if (!store->add_code(sha256(view(name)), std::string(1000, 'p'), 100, 1)) return k;
    }
    return to;
  };
  ASSERT_EQ(add(0, 10), 10);
  const auto size = std::filesystem::file_size(folder_ / "store.sqlite");
  const int reached = without_room(size + 60'000, [&] { return add(10, 250); });
  ASSERT_GT(reached, 10);
  ASSERT_LT(reached, 250);
  // What was said to be there is there, and the rest can come now.
  Store store = *Store::open(address);
  for (int k = 0; k < reached; ++k) {
    const std::string client = fmt::format("c{}", k);
    const auto taken = store.enrol(sha256(view(fmt::format("code {}", k))), client, {client, "ed25519", {1}}, {1}, 2);
    ASSERT_TRUE(taken.ok());
    EXPECT_EQ(name(taken->refusal), "none") << k;
  }
  const auto absent =
      store.enrol(sha256(view(fmt::format("code {}", reached))), "late", {"late", "ed25519", {1}}, {1}, 2);
  EXPECT_EQ(name(absent->refusal), "no-code");
  EXPECT_EQ(add(reached, 250), 250);
}

}  // namespace
}  // namespace zkapex
