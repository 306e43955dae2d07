// Line and bar charts as SVG files that need nothing else: readable alone and in a page, light and dark.
#pragma once

#include <string>
#include <vector>

namespace zkapex {

struct ChartPoint {
  double x = 0, y = 0;
  double deviation = 0;  // half the length of the error bar
};

struct Series {
  std::string name;
  std::vector<ChartPoint> points = {};  // of a bar chart: x is the group's number
  bool dashed = false;                  // a reference, not a measurement of ours
};

// One pair of axes.
struct Panel {
  std::string title = {}, x_title = {}, y_title = {};
  bool log_x = false, log_y = false;
  std::vector<std::string> groups = {};  // names of groups: then bars are drawn instead of lines
  std::vector<Series> series = {};
};

// Panels side by side, with one legend for all series of the same name.
struct Chart {
  std::string title;
  std::vector<Panel> panels;
};

[[nodiscard]] std::string chart_svg(const Chart& chart);

}  // namespace zkapex
