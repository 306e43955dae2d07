#include "base/hardening.h"

#include <sys/prctl.h>
#include <sys/resource.h>

#include <cerrno>
#include <system_error>

namespace zkapex {

Status keep_memory_private() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_CORE, &none) != 0 || ::prctl(PR_SET_DUMPABLE, 0) != 0)
    return error("cannot forbid core dumps: {}", std::generic_category().message(errno));
  return Done{};
}

}  // namespace zkapex
