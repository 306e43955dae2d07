// Progress of long work, on stderr: a bar with rate and time left on a terminal, a plain line now and then elsewhere.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <ostream>
#include <string>

namespace zkapex {

enum class ProgressStyle { kSilent, kBar, kLines };

// A bar where stderr is a terminal that understands one, lines elsewhere, silence when asked for.
[[nodiscard]] ProgressStyle stderr_progress_style(bool quiet);

// Characters that a line of the terminal behind a descriptor has; 80 where it does not say.
[[nodiscard]] size_t terminal_columns(int descriptor);

// Work that is over within a second shows nothing. Any thread may advance.
class Progress {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;
  using Columns = std::function<size_t()>;

  // `unit` is the plural of what is counted ("rows"); `total` 0 means unknown.
  Progress(ProgressStyle style, std::string label, std::string unit, uint64_t total);
  // To another stream, with another clock and width.
  Progress(ProgressStyle style, std::string label, std::string unit, uint64_t total, std::ostream& out, Clock clock,
           Columns columns);
  // Leaves the last state on the screen and the cursor on a new line.
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void advance(uint64_t count = 1);

 private:
  void show(std::chrono::steady_clock::time_point now);

  ProgressStyle style_;
  std::string label_, unit_;
  uint64_t total_;
  std::ostream& out_;
  Clock clock_;
  Columns columns_;  // asked each time: windows change their size
  std::chrono::steady_clock::time_point start_;
  std::atomic<uint64_t> done_{0};
  std::atomic<std::chrono::steady_clock::rep> next_;  // when to show again
  std::mutex mutex_;                                  // of the stream and of what follows
  bool shown_ = false;
  uint64_t shown_done_ = 0;
};

// "commit rows [########----------------]  33 %  1.2 M rows/s  ETA 0:42"; with less room, less of it: a bar that
// wraps around could not be redrawn in place.
[[nodiscard]] std::string progress_bar(const std::string& label, const std::string& unit, uint64_t done, uint64_t total,
                                       double seconds, size_t room);
// "commit rows: 33 %, 40000000 of 120000000 rows, 1.2 M rows/s, ETA 0:42"
[[nodiscard]] std::string progress_line(const std::string& label, const std::string& unit, uint64_t done,
                                        uint64_t total, double seconds);

}  // namespace zkapex
