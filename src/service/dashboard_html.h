// Pieces of the dashboard's pages. Everything that comes from elsewhere passes escape_html.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "service/store_types.h"

namespace zkapex {

[[nodiscard]] std::string escape_html(std::string_view text);
// As a segment of a path.
[[nodiscard]] std::string encode_segment(std::string_view text);

// <time> with the absolute time; the page's script adds how long from now.
[[nodiscard]] std::string time_html(UnixTime time);
[[nodiscard]] std::string time_html(const std::optional<UnixTime>& time);
// "3 h", "12 days": two units would be more than anybody reads.
[[nodiscard]] std::string duration_text(UnixTime seconds);
[[nodiscard]] std::string size_text(uint64_t bytes);
[[nodiscard]] std::string short_hex(const Digest& digest);
// A word with a colour; the word alone says it all.
[[nodiscard]] std::string state_html(std::string_view state);
[[nodiscard]] std::string link_html(std::string_view target, std::string_view text);

struct PageFrame {
  std::string title;
  std::string_view current;  // of the navigation: "overview", "clients", "log"
  std::string body;
};
[[nodiscard]] std::string page_html(const PageFrame& frame);

// A table that is read line by line on a phone: each cell carries the name of its column.
class TableHtml {
 public:
  TableHtml(std::string_view caption, std::vector<std::string> columns);
  void row(const std::vector<std::string>& cells, std::string_view state = {});  // cells are HTML
  [[nodiscard]] std::string html(std::string_view when_empty) const;

 private:
  std::string caption_, rows_;
  std::vector<std::string> columns_;
};

// Progress of a window over time: cumulative counts as lines of an SVG, with the same numbers as a table for those who
// do not see it.
struct ChartInput {
  std::vector<ProgressPoint> points;  // of equal intervals, by time; intervals without anything may be missing
  UnixTime interval = 3600;
  UnixTime opens = 0, deadline = 0, now = 0;
  uint64_t due = 0;
};
[[nodiscard]] std::string progress_chart(const ChartInput& input);
// An interval that gives a chart of at most 48 points.
[[nodiscard]] UnixTime chart_interval(UnixTime opens, UnixTime deadline);

extern const std::string_view kDashboardStyle, kDashboardScript;

}  // namespace zkapex
