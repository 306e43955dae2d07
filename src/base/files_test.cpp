#include "base/files.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <fstream>

#include "base/memory.h"

namespace zkapex {
namespace {

namespace fs = std::filesystem;

class FilesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "zkapex_files_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    directory_ = name;
  }
  void TearDown() override { fs::remove_all(directory_); }

  [[nodiscard]] Path at(std::string_view name) const { return directory_ / name; }
  [[nodiscard]] size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(directory_), fs::directory_iterator()));
  }
  static std::string content(const Path& path) {
    std::ifstream in(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }
  static void expect_error(const Status& status, std::string_view part) {
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find(part), std::string::npos) << status.error().message;
  }
  template <class T>
  static void expect_error(const Result<T>& result, const Path& path, std::string_view reason) {
    ASSERT_FALSE(result.ok());
    EXPECT_NE(result.error().message.find(path.string()), std::string::npos) << result.error().message;
    EXPECT_NE(result.error().message.find(reason), std::string::npos) << result.error().message;
  }

  Path directory_;
};

// While it lives no file of this process may grow beyond `bytes`: what a full disk looks like to a writer.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    ::getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit limited{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &limited);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }

 private:
  rlimit before_{};
  void (*handler_)(int);
};

TEST_F(FilesTest, ReadsBackWhatWasWritten) {
  for (size_t size : {size_t{0}, size_t{1}, size_t{65535}, size_t{65536}, size_t{65537}, size_t{200000}}) {
    Bytes bytes(size);
    for (size_t k = 0; k < size; ++k) bytes[k] = static_cast<uint8_t>(k * 7 + k / 256);
    const Path path = at(std::to_string(size));
    ASSERT_TRUE(write_file(path, bytes).ok());
    EXPECT_EQ(*read_file(path, size), bytes);
    EXPECT_EQ(*read_file(path, SIZE_MAX), bytes);
    const auto secret = read_secret_file(path, size);
    ASSERT_TRUE(secret.ok());
    EXPECT_TRUE(std::equal(secret->begin(), secret->end(), bytes.begin(), bytes.end()));
    const auto mapped = MappedFile::open(path);
    ASSERT_TRUE(mapped.ok());
    EXPECT_TRUE(std::equal(mapped->bytes().begin(), mapped->bytes().end(), bytes.begin(), bytes.end()));
  }
}

TEST_F(FilesTest, ReadErrorsNameTheFileAndTheReason) {
  expect_error(read_file(at("missing"), 10), at("missing"), "No such file or directory");
  expect_error(read_file(directory_, 10), directory_, "Is a directory");
  expect_error(MappedFile::open(at("missing")), at("missing"), "No such file or directory");
  expect_error(MappedFile::open(directory_), directory_, "Is a directory");
  expect_error(MappedFile::open("/dev/null"), "/dev/null", "not a regular file");
}

TEST_F(FilesTest, ReadRefusesMoreThanTheLimit) {
  ASSERT_TRUE(write_file(at("four"), view("four")).ok());
  expect_error(read_file(at("four"), 3), at("four"), "more than 3 bytes");
  expect_error(read_file(at("four"), 0), at("four"), "more than 0 bytes");
  // Without a size to look at beforehand, the limit holds while reading.
  expect_error(read_file("/proc/self/status", 20), "/proc/self/status", "more than 20 bytes");
  EXPECT_TRUE(read_file("/proc/self/status", 1 << 20).ok());
}

TEST_F(FilesTest, AnExistingFileIsKeptUnlessReplacingIsAskedFor) {
  ASSERT_TRUE(write_file(at("f"), view("old")).ok());
  expect_error(write_file(at("f"), view("new")), "exists already");
  EXPECT_EQ(content(at("f")), "old");
  ASSERT_TRUE(write_file(at("f"), view("new"), {.overwrite = true}).ok());
  EXPECT_EQ(content(at("f")), "new");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, AFileThatAppearsMeanwhileIsKeptToo) {
  auto writer = FileWriter::create(at("f"));
  ASSERT_TRUE(writer.ok());
  ASSERT_TRUE(writer->write(view("late")).ok());
  std::ofstream(at("f")) << "early";
  expect_error(writer->commit(), "File exists");
  EXPECT_EQ(content(at("f")), "early");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, NothingIsSeenBeforeCommitAndNothingIsLeftWithoutOne) {
  {
    auto writer = FileWriter::create(at("f"));
    ASSERT_TRUE(writer.ok());
    ASSERT_TRUE(writer->write(view("half")).ok());
    EXPECT_FALSE(fs::exists(at("f")));
    FileWriter moved = std::move(*writer);
    ASSERT_TRUE(moved.write(view(" and half")).ok());
    EXPECT_EQ(entries(), 1U);  // the temporary name
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(FilesTest, AssignmentDiscardsTheFileThatWasBeingWritten) {
  auto first = FileWriter::create(at("first"));
  auto second = FileWriter::create(at("second"));
  ASSERT_TRUE(first.ok() && second.ok());
  const auto open_files = [] {
    return std::distance(fs::directory_iterator("/proc/self/fd"), fs::directory_iterator());
  };
  const auto before = open_files();
  *first = std::move(*second);
  EXPECT_EQ(open_files(), before - 1);
  ASSERT_TRUE(first->write(view("2")).ok());
  ASSERT_TRUE(first->commit().ok());
  EXPECT_EQ(content(at("second")), "2");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, AFullDiskLeavesTheOldFileAndNoTemporary) {
  ASSERT_TRUE(write_file(at("f"), view("old")).ok());
  const Bytes large(10000, 1);
  {
    const FileSizeLimit limit(4096);
    const auto status = write_file(at("f"), large, {.overwrite = true});
    expect_error(status, at("f"), "File too large");
  }
  EXPECT_EQ(content(at("f")), "old");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, PlacesThatCannotBeWritten) {
  ASSERT_TRUE(write_file(at("f"), view("a file, not a directory")).ok());
  expect_error(write_file(at("f") / "below", view("x")), at("f") / "below", "Not a directory");
  expect_error(write_file(at("no/such/f"), view("x")), at("no/such/f"), "No such file or directory");
  expect_error(write_file(directory_, view("x"), {.overwrite = true}), directory_, "Is a directory");
  expect_error(write_file(directory_ / "", view("x")), directory_, "not the name of a file");
  expect_error(write_file("", view("x")), "", "not the name of a file");
  expect_error(write_file("/dev/null", view("x"), {.overwrite = true}), "/dev/null", "not a file");
  expect_error(write_file("/proc/zkapex", view("x")), "/proc/zkapex", "cannot write");
  expect_error(write_file(at(std::string(300, 'n')), view("x")), "n", "File name too long");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, SecretsAreForTheirOwnerOnly) {
  const mode_t before = ::umask(022);
  ASSERT_TRUE(write_file(at("secret"), view("s"), {.secret = true}).ok());
  ASSERT_TRUE(write_file(at("plain"), view("p")).ok());
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(at("secret").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0600U);
  ASSERT_EQ(::stat(at("plain").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0644U);
}

TEST_F(FilesTest, ANewFolderIsForItsOwnerOnlyAndAnOldOneIsLeftAsItIs) {
  const mode_t before = ::umask(022);
  ASSERT_TRUE(make_private_folder(at("above/new")).ok());
  fs::create_directory(at("old"));
  ASSERT_TRUE(make_private_folder(at("old")).ok());
  ::umask(before);
  struct stat info {};
  ASSERT_EQ(::stat(at("above/new").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  ASSERT_EQ(::stat(at("old").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0755U);
  ASSERT_TRUE(write_file(at("f"), view("x")).ok());
  expect_error(make_private_folder(at("f")), "File exists");
  expect_error(make_private_folder(at("f/below")), "cannot make the folder");
}

TEST_F(FilesTest, ASymbolicLinkIsReplacedNotFollowed) {
  ASSERT_TRUE(write_file(at("target"), view("target")).ok());
  fs::create_symlink(at("target"), at("link"));
  expect_error(write_file(at("link"), view("new")), "exists already");
  ASSERT_TRUE(write_file(at("link"), view("new"), {.overwrite = true}).ok());
  EXPECT_EQ(content(at("target")), "target");
  EXPECT_FALSE(fs::is_symlink(at("link")));
  EXPECT_EQ(content(at("link")), "new");
}

TEST_F(FilesTest, ANameWithoutDirectoryIsWrittenHere) {
  const Path before = fs::current_path();
  fs::current_path(directory_);
  const auto status = write_file("here", view("x"));
  fs::current_path(before);
  ASSERT_TRUE(status.ok()) << status.error().message;
  EXPECT_EQ(content(at("here")), "x");
}

TEST_F(FilesTest, AFolderIsHeldByOneLockAtATime) {
  auto first = FolderLock::take(directory_);
  ASSERT_TRUE(first.ok()) << first.error().message;
  const auto second = FolderLock::take(directory_);
  EXPECT_FALSE(FolderLock::try_take(directory_)->has_value());
  ASSERT_FALSE(second.ok());
  EXPECT_NE(second.error().message.find("in use by another command"), std::string::npos);
  { const FolderLock released = std::move(*first); }
  EXPECT_TRUE(FolderLock::take(directory_).ok());
  EXPECT_FALSE(FolderLock::take(at("nothing")).ok());
}

TEST_F(FilesTest, MappingsMoveAndOutliveTheirFile) {
  ASSERT_TRUE(write_file(at("a"), view("first")).ok());
  ASSERT_TRUE(write_file(at("b"), view("second")).ok());
  auto a = MappedFile::open(at("a"));
  auto b = MappedFile::open(at("b"));
  ASSERT_TRUE(a.ok() && b.ok());
  ASSERT_TRUE(write_file(at("b"), view("replaced"), {.overwrite = true}).ok());
  MappedFile moved = std::move(*a);
  EXPECT_EQ(to_hex(moved.bytes()), to_hex(view("first")));
  moved = std::move(*b);
  EXPECT_EQ(to_hex(moved.bytes()), to_hex(view("second")));
}

TEST_F(FilesTest, WhatIsForgottenOfAMappingLeavesMemoryAndIsThereAgain) {
  constexpr size_t kSize = size_t{32} << 20;
  Bytes bytes(kSize);
  for (size_t k = 0; k < kSize; ++k) bytes[k] = static_cast<uint8_t>(k >> 12);
  ASSERT_TRUE(write_file(at("large"), bytes).ok());
  const Result<MappedFile> mapped = MappedFile::open(at("large"));
  ASSERT_TRUE(mapped.ok());
  EXPECT_TRUE(std::ranges::equal(mapped->bytes(), bytes));
  const uint64_t before = memory_use()->resident;
  forget_mapped(mapped->bytes().subspan(5, kSize - 9));
  forget_mapped({});
  EXPECT_LT(memory_use()->resident + kSize / 2, before);
  EXPECT_TRUE(std::ranges::equal(mapped->bytes(), bytes));
}

TEST_F(FilesTest, NamesOfTemporariesAreNotForOutputs) {
  const Status refused = write_file(at("out.tmp-0123456789abcdef"), view("x"));
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("temporary"), std::string::npos);
  EXPECT_TRUE(write_file(at("out.tmp-0123456789abcde"), view("x")).ok());
}

TEST_F(FilesTest, PipesAreNotWaitedFor) {
  ASSERT_EQ(::mkfifo(at("pipe").c_str(), 0600), 0);
  expect_error(FileReader::open(at("pipe")), at("pipe"), "not a regular file");
  expect_error(MappedFile::open(at("pipe")), at("pipe"), "not a regular file");
  // Nobody may ever open the other end: without O_NONBLOCK this would wait for it.
  expect_error(read_file(at("pipe"), 100), at("pipe"), "not a regular file");
  expect_error(read_file("/dev/zero", 100), "/dev/zero", "not a regular file");
}

}  // namespace
}  // namespace zkapex
