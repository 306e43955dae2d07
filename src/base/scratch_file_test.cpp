#include "base/scratch_file.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>

#include "base/result_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(ScratchFile, GivesBackWhatWasWrittenAnywhere) {
  Result<ScratchFile> made = ScratchFile::in(std::filesystem::temp_directory_path());
  ASSERT_TRUE(made.ok()) << made.error().message;
  ScratchFile file = *std::move(made);
  ASSERT_TRUE(file.write(5, Bytes{1, 2, 3}).ok());
  ASSERT_TRUE(file.write(0, Bytes{9}).ok());
  Bytes out(8);
  ASSERT_TRUE(file.read(0, out).ok());
  EXPECT_EQ(out, (Bytes{9, 0, 0, 0, 0, 1, 2, 3}));
  EXPECT_NE(refusal(file.read(1, out)).find("cannot read a scratch file"), std::string::npos);
}

TEST(ScratchFile, LeavesNoName) {
  const Path folder = std::filesystem::temp_directory_path() / fmt::format("zkapex-scratch-test-{}", ::getpid());
  std::filesystem::create_directory(folder);
  Result<ScratchFile> file = ScratchFile::in(folder);
  ASSERT_TRUE(file.ok() && file->write(0, Bytes{1}).ok());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  std::filesystem::remove(folder);
}

TEST(ScratchFile, AFolderThatIsNotThereIsAnError) {
  EXPECT_NE(refusal(ScratchFile::in("/proc/none")).find("/proc/none"), std::string::npos);
}

// As on a full disk: what cannot be written is told.
TEST(ScratchFile, WhatDoesNotFitIsAnError) {
  Result<ScratchFile> file = ScratchFile::in(std::filesystem::temp_directory_path());
  ASSERT_TRUE(file.ok());
  const auto old_handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit old{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old), 0);
  const rlimit small{.rlim_cur = 100, .rlim_max = old.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &small), 0);
  const Status within = file->write(0, Bytes(100)), beyond = file->write(50, Bytes(100));
  ::setrlimit(RLIMIT_FSIZE, &old);
  std::signal(SIGXFSZ, old_handler);
  EXPECT_TRUE(within.ok());
  EXPECT_NE(refusal(beyond).find("cannot write a scratch file"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
