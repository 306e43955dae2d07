#include "base/progress.h"

#include <gtest/gtest.h>
#include <pty.h>
#include <unistd.h>

#include <sstream>
#include <thread>
#include <vector>

namespace zkapex {
namespace {

// Time that passes only when it is told to.
struct FakeTime {
  std::chrono::steady_clock::time_point now{};
  void pass(int milliseconds) { now += std::chrono::milliseconds(milliseconds); }
  Progress::Clock clock() {
    return [this] { return now; };
  }
};

size_t wide() { return 80; }

TEST(Progress, BarHasPercentRateAndTimeLeft) {
  EXPECT_EQ(progress_bar("commit", "rows", 25, 100, 5, 80),
            "commit [######------------------]  25 %  5 rows/s  ETA 0:15");
  EXPECT_EQ(progress_bar("commit", "rows", 100, 100, 5, 80), "commit [########################] 100 %  20 rows/s");
  EXPECT_EQ(progress_bar("commit", "rows", 0, 100, 5, 80), "commit [------------------------]   0 %  0 rows/s");
}

TEST(Progress, ABarFitsItsLine) {
  const auto bar = [](size_t room) { return progress_bar("checking weights", "weights", 25, 100, 5, room); };
  EXPECT_EQ(bar(72), "checking weights [######------------------]  25 %  5 weights/s  ETA 0:15");
  EXPECT_EQ(bar(71), "checking weights [##--------]  25 %  5 weights/s  ETA 0:15");
  EXPECT_EQ(bar(54), "checking weights [##--------]  25 %  ETA 0:15");
  EXPECT_EQ(bar(39), "checking weights  25 %  ETA 0:15");
  EXPECT_EQ(bar(31), "checking weights  25 %");
  EXPECT_EQ(bar(21), "25 %");
  EXPECT_EQ(bar(3), "25 ");
  for (size_t room = 0; room < 80; ++room) {
    EXPECT_LE(bar(room).size(), room);
    EXPECT_LE(progress_bar("read", "bytes", 5000, 0, 1, room).size(), room);
  }
  EXPECT_EQ(progress_bar("read", "bytes", 5000, 0, 1, 20), "read  5000 bytes");
}

// A terminal that says it has 40 columns is never given a longer line.
TEST(Progress, ATerminalTellsItsWidth) {
  int ours = -1, terminal = -1;
  winsize size{.ws_row = 10, .ws_col = 40, .ws_xpixel = 0, .ws_ypixel = 0};
  ASSERT_EQ(::openpty(&ours, &terminal, nullptr, nullptr, &size), 0);
  EXPECT_EQ(terminal_columns(terminal), 40U);
  std::ostringstream out;
  FakeTime time;
  {
    Progress progress(ProgressStyle::kBar, "checking weights", "weights", 40, out, time.clock(),
                      [&] { return terminal_columns(terminal); });
    for (int k = 0; k < 40; ++k) {
      time.pass(1000);
      progress.advance();
    }
  }
  std::string shown = out.str();
  size_t bars = 0;
  for (size_t at = shown.find('\r'); at != std::string::npos; at = shown.find('\r', at + 1), ++bars)
    EXPECT_LT(shown.find("\x1b[K", at) - at - 1, 40U);
  EXPECT_GE(bars, 40U);
  EXPECT_TRUE(shown.ends_with("\n"));
  ::close(ours);
  ::close(terminal);
  EXPECT_EQ(terminal_columns(-1), 80U);
}

TEST(Progress, LineHasTheSame) {
  EXPECT_EQ(progress_line("commit", "rows", 3'000'000, 12'000'000, 2),
            "commit: 25 %, 3000000 of 12000000 rows, 1.5 M rows/s, ETA 0:06");
  EXPECT_EQ(progress_line("commit", "rows", 1, 7200, 1), "commit: 0 %, 1 of 7200 rows, 1 rows/s, ETA 1:59:59");
}

TEST(Progress, ExtremeCounts) {
  EXPECT_EQ(progress_line("read", "bytes", 5000, 0, 1), "read: 5000 bytes, 5.0 k bytes/s");
  EXPECT_EQ(progress_bar("read", "bytes", 5000, 0, 1, 80), "read  5000 bytes  5.0 k bytes/s");
  EXPECT_EQ(progress_line("x", "u", 11, 10, 1), "x: 100 %, 11 of 10 u, 11 u/s");
  EXPECT_EQ(progress_line("x", "u", 999, 1000, 1), "x: 99 %, 999 of 1000 u, 999 u/s, ETA 0:01");
  EXPECT_NE(progress_line("x", "u", 1, UINT64_MAX, 100).find("more than 11 days"), std::string::npos);
  EXPECT_NE(progress_line("x", "u", 5, 10, 0).find("G u/s"), std::string::npos);
}

TEST(Progress, ShortWorkShowsNothing) {
  for (const auto style : {ProgressStyle::kBar, ProgressStyle::kLines}) {
    std::ostringstream out;
    FakeTime time;
    {
      Progress progress(style, "commit", "rows", 10, out, time.clock(), wide);
      for (int k = 0; k < 10; ++k) {
        time.pass(99);
        progress.advance();
      }
    }
    EXPECT_EQ(out.str(), "");
  }
}

TEST(Progress, LinesComeAtIntervalsAndAtTheEnd) {
  std::ostringstream out;
  FakeTime time;
  {
    Progress progress(ProgressStyle::kLines, "commit", "rows", 20, out, time.clock(), wide);
    for (int k = 0; k < 20; ++k) {
      time.pass(1000);
      progress.advance();
    }
  }
  EXPECT_EQ(out.str(),
            "commit: 5 %, 1 of 20 rows, 1 rows/s, ETA 0:19\n"
            "commit: 55 %, 11 of 20 rows, 1 rows/s, ETA 0:09\n"
            "commit: 100 %, 20 of 20 rows, 1 rows/s\n");
}

TEST(Progress, TheLastLineIsNotRepeated) {
  std::ostringstream out;
  FakeTime time;
  {
    Progress progress(ProgressStyle::kLines, "commit", "rows", 1, out, time.clock(), wide);
    time.pass(4000);
    progress.advance();
    time.pass(1000);
  }
  EXPECT_EQ(out.str(), "commit: 100 %, 1 of 1 rows, 0.25 rows/s\n");
}

TEST(Progress, BarIsRedrawnInPlaceAndEndsTheLine) {
  std::ostringstream out;
  FakeTime time;
  {
    Progress progress(ProgressStyle::kBar, "commit", "rows", 4, out, time.clock(), wide);
    time.pass(1000);
    progress.advance();
    time.pass(50);  // too soon to draw again
    progress.advance();
    time.pass(950);
    progress.advance(2);
  }
  EXPECT_EQ(out.str(),
            "\rcommit [######------------------]  25 %  1 rows/s  ETA 0:03\x1b[K"
            "\rcommit [########################] 100 %  2 rows/s\x1b[K"
            "\rcommit [########################] 100 %  2 rows/s\x1b[K\n");
}

TEST(Progress, SilenceIsSilent) {
  std::ostringstream out;
  FakeTime time;
  {
    Progress progress(ProgressStyle::kSilent, "commit", "rows", 4, out, time.clock(), wide);
    time.pass(60'000);
    progress.advance();
  }
  EXPECT_EQ(out.str(), "");
  EXPECT_EQ(stderr_progress_style(true), ProgressStyle::kSilent);
}

TEST(Progress, ThreadsAdvanceTogether) {
  std::ostringstream out;
  std::atomic<int64_t> ticks = 0;  // 0.1 ms pass with each look at the clock
  {
    Progress progress(
        ProgressStyle::kLines, "count", "steps", 400'000, out,
        [&ticks] { return std::chrono::steady_clock::time_point(std::chrono::microseconds(100 * ++ticks)); }, wide);
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&progress] {
        for (int k = 0; k < 100'000; ++k) progress.advance();
      });
    }
    for (std::thread& t : threads) t.join();
  }
  EXPECT_NE(out.str().find("count: 100 %, 400000 of 400000 steps"), std::string::npos) << out.str();
}

}  // namespace
}  // namespace zkapex
