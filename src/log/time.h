// Times, as statements and answers have them. Nothing here or above reads the machine's clock by itself: whoever needs
// the time is given a Clock.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace zkapex {

using UnixTime = int64_t;  // seconds since 1970, UTC, without leap seconds
using Clock = std::function<UnixTime()>;

[[nodiscard]] UnixTime system_time();  // the Clock of programs

// "2026-11-18T00:28:32Z", for years 1970 to 9999; other times are cut to these.
[[nodiscard]] std::string to_rfc3339(UnixTime time);
// That form and no other: whole seconds, Z.
[[nodiscard]] Result<UnixTime> from_rfc3339(std::string_view text);

}  // namespace zkapex
