#include "base/hardening.h"

#include <gtest/gtest.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

namespace zkapex {
namespace {

// In a child: there is no way back.
TEST(Hardening, NoDumpsAndNoReaders) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    rlimit cores{};
    const bool held = keep_memory_private().ok() && ::getrlimit(RLIMIT_CORE, &cores) == 0 && cores.rlim_cur == 0 &&
                      cores.rlim_max == 0 && ::prctl(PR_GET_DUMPABLE) == 0;
    ::_exit(held ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

}  // namespace
}  // namespace zkapex
