// What SQLite relies on between processes.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "service/database.h"

namespace zkapex {

namespace {

// Whether this process has SQLite's shared lock on the file, as another process sees it. That lock is what keeps the
// other one from taking itself for the last user, and the write-ahead log with it.
bool another_process_sees_the_lock(const std::string& file) {
  const pid_t child = ::fork();
  if (child == 0) {
    struct flock lock {};
    lock.l_type = F_WRLCK;
    lock.l_whence = SEEK_SET;
    lock.l_start = 0x40000002;  // SHARED_FIRST of SQLite's file format
    lock.l_len = 510;
    const int descriptor = ::open(file.c_str(), O_RDWR | O_CLOEXEC);
    const bool asked = descriptor >= 0 && ::fcntl(descriptor, F_GETLK, &lock) == 0;
    ::_exit(asked && lock.l_type != F_UNLCK ? 0 : 1);
  }
  int status = 0;
  return ::waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

TEST(SqliteLocks, AreKeptWhenOneMoreConnectionIsOpened) {
  const std::string file = ::testing::TempDir() + "/sqlite-locks-" + std::to_string(::getpid());
  {
    const auto first = open_database("sqlite:" + file);
    ASSERT_TRUE(first.ok());
    ASSERT_TRUE((*first)->run("CREATE TABLE t (a INTEGER)", {}).ok());
    ASSERT_TRUE(another_process_sees_the_lock(file));
    const auto second = open_database("sqlite:" + file);
    ASSERT_TRUE(second.ok());
    EXPECT_TRUE(another_process_sees_the_lock(file));
  }
  for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(file + end);
}

}  // namespace

}  // namespace zkapex
