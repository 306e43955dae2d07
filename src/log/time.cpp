#include "log/time.h"

#include <algorithm>
#include <chrono>

namespace zkapex {

namespace {

constexpr UnixTime kYear9999 = 253'402'300'799;  // its last second

// A number of `width` digits at `at`; negative where there is none.
int digits(std::string_view text, size_t at, size_t width) {
  int out = 0;
  for (const char c : text.substr(at, width)) {
    if (c < '0' || c > '9') return -1;
    out = 10 * out + (c - '0');
  }
  return out;
}

}  // namespace

UnixTime system_time() {
  return std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string to_rfc3339(UnixTime time) {
  using namespace std::chrono;
  const sys_seconds at{seconds(std::clamp<UnixTime>(time, 0, kYear9999))};
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const hh_mm_ss clock(at - day);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()), clock.hours().count(),
                     clock.minutes().count(), clock.seconds().count());
}

Result<UnixTime> from_rfc3339(std::string_view text) {
  using namespace std::chrono;
  const Error bad = error("a time has the form 2026-01-31T23:59:59Z, from 1970 on");
  if (text.size() != 20) return bad;
  const year_month_day date(year(digits(text, 0, 4)), month(static_cast<unsigned>(digits(text, 5, 2))),
                            day(static_cast<unsigned>(digits(text, 8, 2))));
  if (!date.ok()) return bad;  // whose days nobody could count
  const sys_seconds at =
      sys_days(date) + hours(digits(text, 11, 2)) + minutes(digits(text, 14, 2)) + seconds(digits(text, 17, 2));
  const UnixTime out = at.time_since_epoch().count();
  if (to_rfc3339(out) != text) return bad;  // signs, hours of 24 and more, years before 1970
  return out;
}

}  // namespace zkapex
