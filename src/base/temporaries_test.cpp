#include "base/temporaries.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>

#include "base/files.h"

namespace zkapex {
namespace {

namespace fs = std::filesystem;

class TemporariesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "zkapex_temporaries_XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  [[nodiscard]] Path at(std::string_view name) const { return folder_ / name; }
  [[nodiscard]] size_t entries() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  // How a child ends that does `work`, which must raise a signal.
  static int signal_that_ends(const std::function<void()>& work) {
    const pid_t child = ::fork();
    if (child == 0) {
      work();
      ::_exit(0);
    }
    int status = 0;
    EXPECT_EQ(::waitpid(child, &status, 0), child);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  }
  static void write_half(const Path& path) { std::ofstream(path) << "half"; }

  Path folder_;
};

TEST_F(TemporariesTest, SignalsRemoveFilesAndFoldersAndEndTheProcess) {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    EXPECT_EQ(signal_that_ends([&] {
                std::signal(signal, SIG_DFL);  // whatever runs the tests may ignore it
                remove_temporaries_on_signals();
                auto file = FileWriter::create(at("file"), {.secret = true});
                auto folder = TemporaryFolder::create(at("folder"));
                write_half(folder->file("inside"));
                auto inner = FileWriter::create(folder->file("writing"));
                if (!file || !inner || entries() != 2) ::_exit(1);
                ::raise(signal);
              }),
              signal);
    EXPECT_EQ(entries(), 0U);
  }
}

TEST_F(TemporariesTest, WhatIsFinishedIsNotRemoved) {
  EXPECT_EQ(signal_that_ends([&] {
              remove_temporaries_on_signals();
              auto file = FileWriter::create(at("file"));
              auto folder = TemporaryFolder::create(at("folder"));
              write_half(folder->file("inside"));
              if (!file->commit() || !folder->commit()) ::_exit(1);
              ::raise(SIGTERM);
            }),
            SIGTERM);
  EXPECT_TRUE(fs::exists(at("file")) && fs::exists(at("folder/inside")));
  EXPECT_EQ(entries(), 2U);
}

TEST_F(TemporariesTest, ReleasedNamesAreNotRemoved) {
  EXPECT_EQ(signal_that_ends([&] {
              remove_temporaries_on_signals();
              TemporaryName name(at("kept"));
              write_half(at("kept"));
              name.release();
              ::raise(SIGTERM);
            }),
            SIGTERM);
  EXPECT_TRUE(fs::exists(at("kept")));
}

TEST_F(TemporariesTest, AnIgnoredSignalStaysIgnored) {
  EXPECT_EQ(signal_that_ends([] {
              std::signal(SIGHUP, SIG_IGN);
              remove_temporaries_on_signals();
              ::raise(SIGHUP);
            }),
            0);
}

TEST_F(TemporariesTest, WhatAKilledProcessLeftGoesWithTheNextWriter) {
  EXPECT_EQ(signal_that_ends([&] {
              remove_temporaries_on_signals();
              auto file = FileWriter::create(at("file"));
              auto folder = TemporaryFolder::create(at("folder"));
              write_half(folder->file("inside"));
              ::raise(SIGKILL);
            }),
            SIGKILL);
  EXPECT_EQ(entries(), 2U);
  ASSERT_TRUE(write_file(at("other"), view("x")).ok());
  EXPECT_EQ(entries(), 1U);
}

TEST_F(TemporariesTest, WhatIsBeingWrittenAndWhatHasOtherNamesStays) {
  auto writer = FileWriter::create(at("file"));
  auto folder = TemporaryFolder::create(at("folder"));
  ASSERT_TRUE(writer.ok() && folder.ok());
  for (const char* name : {"a.tmp-0123456789abcde", "a.tmp-0123456789abcdeg", ".tmp-0123456789abcdef", "tmp", "a.tmp-",
                           "a.old-0123456789abcdef"})
    write_half(at(name));
  write_half(at("a.tmp-0123456789abcdef"));
  fs::create_symlink("tmp", at("b.tmp-0123456789abcdef"));  // not followed, and nothing that we made
  remove_stale_temporaries(folder_);
  EXPECT_FALSE(fs::exists(at("a.tmp-0123456789abcdef")));
  EXPECT_TRUE(fs::exists(at("tmp")));
  EXPECT_EQ(entries(), 2U + 6U + 1U);
  EXPECT_TRUE(writer->commit().ok());
  EXPECT_TRUE(folder->commit().ok());
}

TEST_F(TemporariesTest, AFolderAppearsWholeOrNotAtAll) {
  {
    auto folder = TemporaryFolder::create(at("folder"));
    ASSERT_TRUE(folder.ok());
    ASSERT_TRUE(write_file(folder->file("inside"), view("x")).ok());
    EXPECT_FALSE(fs::exists(at("folder")));
  }
  EXPECT_EQ(entries(), 0U);
  auto folder = TemporaryFolder::create(at("folder"));
  ASSERT_TRUE(folder.ok());
  ASSERT_TRUE(write_file(folder->file("inside"), view("x")).ok());
  ASSERT_TRUE(folder->commit().ok());
  EXPECT_TRUE(fs::exists(at("folder/inside")));
  struct stat info {};
  ASSERT_EQ(::stat(at("folder").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
  auto second = TemporaryFolder::create(at("folder"));
  ASSERT_TRUE(second.ok());
  const Status refused = second->commit();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("exists already"), std::string::npos);
  EXPECT_FALSE(TemporaryFolder::create(at("no/such/folder")).ok());
}

TEST_F(TemporariesTest, MoreNamesThanSignalsCanFindAreRemovedByTheirOwners) {
  {
    std::vector<FileWriter> writers;
    for (int k = 0; k < 100; ++k) writers.push_back(*FileWriter::create(at(fmt::format("f{}", k))));
    EXPECT_EQ(entries(), 100U);
  }
  EXPECT_EQ(entries(), 0U);
}

}  // namespace
}  // namespace zkapex
