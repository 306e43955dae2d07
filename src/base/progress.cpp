#include "base/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <iostream>
#include <string_view>
#include <utility>
#include <vector>

namespace zkapex {

namespace {

using TimePoint = std::chrono::steady_clock::time_point;
using Duration = std::chrono::steady_clock::duration;

constexpr Duration kSilence = std::chrono::seconds(1);
constexpr Duration kBarInterval = std::chrono::milliseconds(100);
constexpr Duration kLineInterval = std::chrono::seconds(10);

double seconds_of(Duration duration) { return std::chrono::duration<double>(duration).count(); }

// "17 rows/s", "1.2 M rows/s", "0.25 rows/s"
std::string rate(uint64_t done, double seconds, const std::string& unit) {
  double per_second = static_cast<double>(done) / std::max(seconds, 1e-9);
  constexpr std::string_view kPrefixes = " kMGTPE";
  size_t prefix = 0;
  while (per_second >= 1000 && prefix + 1 < kPrefixes.size()) {
    per_second /= 1000;
    ++prefix;
  }
  if (per_second < 1) return fmt::format("{:.2g} {}/s", per_second, unit);
  return prefix == 0 ? fmt::format("{:.0f} {}/s", per_second, unit)
                     : fmt::format("{:.1f} {} {}/s", per_second, kPrefixes[prefix], unit);
}

// "ETA 0:42", "ETA 1:02:03"; "" while nothing is known.
std::string time_left(uint64_t done, uint64_t total, double seconds) {
  if (done == 0 || done >= total) return "";
  const double left = seconds / static_cast<double>(done) * static_cast<double>(total - done);
  if (left > 1e6) return "ETA more than 11 days";
  const auto whole = static_cast<long>(std::ceil(left));
  return whole < 3600 ? fmt::format("ETA {}:{:02}", whole / 60, whole % 60)
                      : fmt::format("ETA {}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60);
}

// Rounded down, so that 100 % means done; more than the total counts as the total.
unsigned percent(uint64_t done, uint64_t total) {
  return static_cast<unsigned>(100.0 * static_cast<double>(std::min(done, total)) / static_cast<double>(total));
}

}  // namespace

ProgressStyle stderr_progress_style(bool quiet) {
  if (quiet) return ProgressStyle::kSilent;
  const char* terminal = std::getenv("TERM");
  const bool draws = terminal != nullptr && std::string_view(terminal) != "dumb" && ::isatty(STDERR_FILENO) == 1;
  return draws ? ProgressStyle::kBar : ProgressStyle::kLines;
}

size_t terminal_columns(int descriptor) {
  winsize size{};
  return ::ioctl(descriptor, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
}

std::string progress_bar(const std::string& label, const std::string& unit, uint64_t done, uint64_t total,
                         double seconds, size_t room) {
  const std::string speed = "  " + rate(done, seconds, unit);
  std::vector<std::string> forms;  // from long to short
  if (total == 0) {
    const std::string count = fmt::format("{} {}", done, unit);
    forms = {label + "  " + count + speed, label + "  " + count, count};
  } else {
    const unsigned share = percent(done, total);
    const auto bar = [&](unsigned width) {
      const unsigned filled = share * width / 100;
      return fmt::format(" [{:#<{}}{:-<{}}] {:3} %", "", filled, "", width - filled, share);
    };
    std::string left = time_left(done, total, seconds);
    if (!left.empty()) left = "  " + left;
    const std::string number = fmt::format("{} %", share);
    forms = {label + bar(24) + speed + left, label + bar(10) + speed + left, label + bar(10) + left,
             label + "  " + number + left,   label + "  " + number,          number};
  }
  const auto fits = std::find_if(forms.begin(), forms.end(), [&](const std::string& f) { return f.size() <= room; });
  return fits != forms.end() ? *fits : forms.back().substr(0, room);
}

std::string progress_line(const std::string& label, const std::string& unit, uint64_t done, uint64_t total,
                          double seconds) {
  if (total == 0) return fmt::format("{}: {} {}, {}", label, done, unit, rate(done, seconds, unit));
  std::string out = fmt::format("{}: {} %, {} of {} {}, {}", label, percent(done, total), done, total, unit,
                                rate(done, seconds, unit));
  if (const std::string left = time_left(done, total, seconds); !left.empty()) out += ", " + left;
  return out;
}

Progress::Progress(ProgressStyle style, std::string label, std::string unit, uint64_t total)
    : Progress(style, std::move(label), std::move(unit), total, std::cerr, &std::chrono::steady_clock::now,
               [] { return terminal_columns(STDERR_FILENO); }) {}

Progress::Progress(ProgressStyle style, std::string label, std::string unit, uint64_t total, std::ostream& out,
                   Clock clock, Columns columns)
    : style_(style),
      label_(std::move(label)),
      unit_(std::move(unit)),
      total_(total),
      out_(out),
      clock_(std::move(clock)),
      columns_(std::move(columns)),
      start_(clock_()),
      next_((start_ + kSilence).time_since_epoch().count()) {}

Progress::~Progress() {
  if (!shown_) return;
  // A line is not said twice.
  if (style_ == ProgressStyle::kBar || shown_done_ != done_.load(std::memory_order_relaxed)) show(clock_());
  if (style_ == ProgressStyle::kBar) out_ << '\n' << std::flush;
}

void Progress::advance(uint64_t count) {
  done_.fetch_add(count, std::memory_order_relaxed);
  if (style_ == ProgressStyle::kSilent) return;
  const TimePoint now = clock_();
  if (now.time_since_epoch().count() < next_.load(std::memory_order_relaxed)) return;
  // Whoever finds the stream taken leaves the showing to the one that has it.
  const std::unique_lock lock(mutex_, std::try_to_lock);
  if (!lock.owns_lock() || now.time_since_epoch().count() < next_.load(std::memory_order_relaxed)) return;
  show(now);
  const Duration interval = style_ == ProgressStyle::kBar ? kBarInterval : kLineInterval;
  next_.store((now + interval).time_since_epoch().count(), std::memory_order_relaxed);
}

void Progress::show(TimePoint now) {
  const uint64_t done = done_.load(std::memory_order_relaxed);
  const double seconds = seconds_of(now - start_);
  if (style_ == ProgressStyle::kBar) {
    // One column stays free: a cursor behind the last one is on the next line for some terminals.
    const size_t room = std::max<size_t>(columns_(), 2) - 1;
    out_ << '\r' << progress_bar(label_, unit_, done, total_, seconds, room) << "\x1b[K" << std::flush;
  } else {
    out_ << progress_line(label_, unit_, done, total_, seconds) << '\n' << std::flush;
  }
  shown_ = true;
  shown_done_ = done;
}

}  // namespace zkapex
