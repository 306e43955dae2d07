#include "tables/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include "tables/svg.h"

namespace zkapex {

namespace {

using Anchor = Svg::Anchor;

constexpr double kPanelHeight = 304, kLeft = 52, kRight = 14, kTop = 44, kBottom = 52;
constexpr double kPlotHeight = kPanelHeight - kTop - kBottom;
constexpr double kCurveWidth = 314, kGroupWidth = 68;  // of a plot with lines; of a group of bars
constexpr double kLeastWidth = 560;                    // for the title
constexpr double kHeader = 34, kLegendRow = 18;
constexpr size_t kColours = 8, kMostMarks = 8;

// Colours keep apart for all kinds of colour vision (after Okabe and Ito), on light and on dark ground.
constexpr std::string_view kStyle = R"css(
svg { color-scheme: light dark; background: #fff; font-family: system-ui, "DejaVu Sans", sans-serif; }
text { fill: #1b1f24; font-size: 12px; } .small { fill: #57606a; font-size: 11px; } .strong { font-weight: 600; }
.axis { stroke: #57606a; } .grid { stroke: #d0d7de; } .error { stroke-width: 1.2; }
.line { fill: none; stroke-width: 2; } .dashed { stroke-dasharray: 6 4; }
.c0 { --c: #0072b2; } .c1 { --c: #c65102; } .c2 { --c: #008a64; } .c3 { --c: #8250b3; }
.c4 { --c: #8a6d00; } .c5 { --c: #b3266b; } .c6 { --c: #3d5a80; } .c7 { --c: #57606a; }
.fill { fill: var(--c); } .stroke { stroke: var(--c); }
@media (prefers-color-scheme: dark) { svg { background: #101418; } text { fill: #e6e9ec; } .small { fill: #a3adb8; }
.axis { stroke: #a3adb8; } .grid { stroke: #37414c; }
.c0 { --c: #56b4e9; } .c1 { --c: #f0a030; } .c2 { --c: #2fc99b; } .c3 { --c: #c9a0ee; }
.c4 { --c: #e5d25a; } .c5 { --c: #ff8fc0; } .c6 { --c: #9fc0e8; } .c7 { --c: #a3adb8; } }
)css";

double plot_width(const Panel& panel) {
  return panel.groups.empty() ? kCurveWidth
                              : std::max(kCurveWidth, kGroupWidth * static_cast<double>(panel.groups.size()));
}

double panel_width(const Panel& panel) { return kLeft + plot_width(panel) + kRight; }

std::vector<std::string> legend_of(const Chart& chart) {
  std::vector<std::string> names;
  for (const Panel& panel : chart.panels) {
    for (const Series& series : panel.series) {
      if (std::ranges::find(names, series.name) == names.end()) names.push_back(series.name);
    }
  }
  return names;
}

// One direction of a panel: values to places between `from` and `to`.
class Axis {
 public:
  // From zero or another round number to one.
  static Axis round(double low, double high, double from, double to) {
    const double step = nice_step((high - low) / 5);
    const double first = std::floor(low / step + 1e-9), last = std::max(first + 1, std::ceil(high / step - 1e-9));
    std::vector<double> ticks;
    for (int64_t k = std::lround(first); k <= std::lround(last); ++k) ticks.push_back(static_cast<double>(k) * step);
    return {first * step, last * step, std::move(ticks), false, from, to};
  }
  // By powers of ten.
  static Axis powers(double low, double high, double from, double to) {
    const double first = std::floor(std::log10(low) + 1e-9);
    const double last = std::max(first + 1, std::ceil(std::log10(high) - 1e-9));
    std::vector<double> ticks;
    const int64_t step = std::lround(std::ceil((last - first) / 8));
    for (int64_t k = std::lround(first); k <= std::lround(last); k += step) {
      ticks.push_back(std::pow(10.0, static_cast<double>(k)));
    }
    return {first, last, std::move(ticks), true, from, to};
  }
  // Logarithmic, between values that are all marked.
  static Axis marked(std::vector<double> values, double from, double to) {
    const double low = std::log10(values.front()), high = std::log10(values.back());
    return {low, high > low ? high : low + 1, std::move(values), true, from, to};
  }

  [[nodiscard]] double place(double value) const {
    const double at = log_ ? std::log10(std::max(value, 1e-300)) : value;
    return from_ + (to_ - from_) * (std::clamp(at, low_, high_) - low_) / (high_ - low_);
  }
  [[nodiscard]] const std::vector<double>& ticks() const { return ticks_; }

 private:
  Axis(double low, double high, std::vector<double> ticks, bool log, double from, double to)
      : low_(low), high_(high), ticks_(std::move(ticks)), log_(log), from_(from), to_(to) {}

  static double nice_step(double rough) {
    if (!(rough > 0)) return 1;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    for (const double factor : {1.0, 2.0, 5.0}) {
      if (factor * power >= rough * (1 - 1e-9)) return factor * power;
    }
    return 10 * power;
  }

  double low_, high_;
  std::vector<double> ticks_;
  bool log_;
  double from_, to_;
};

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  void include(double v) {
    low = std::min(low, v);
    high = std::max(high, v);
  }
  [[nodiscard]] bool empty() const { return low > high; }
};

std::string escape(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else {
      out += c;
    }
  }
  return out;
}

class PanelDrawing {
 public:
  PanelDrawing(Svg& svg, const Panel& panel, const std::vector<std::string>& legend, double left, double top)
      : svg_(svg), panel_(panel), legend_(legend), left_(left + kLeft), top_(top + kTop), width_(plot_width(panel)) {}

  void draw() {
    svg_.text(left_, top_ - 27, escape(panel_.title), "strong");
    Range xs, ys, means;
    std::set<double> marks;
    for (const Series& series : panel_.series) {
      for (const ChartPoint& point : series.points) {
        if (!std::isfinite(point.y) || (panel_.log_y && point.y <= 0)) continue;
        xs.include(point.x);
        marks.insert(point.x);
        means.include(point.y);
        ys.include(point.y + point.deviation);
        ys.include(panel_.log_y ? point.y : point.y - point.deviation);
      }
    }
    if (ys.empty()) return;
    // Bars, and what is never negative, begin at zero; deviations that reach below it are cut off there.
    if (!panel_.log_y) {
      if (!panel_.groups.empty()) ys.include(0);
      if (means.low >= 0) ys.low = 0;
    }
    const double bottom = top_ + kPlotHeight, first = left_ + 14, last = left_ + width_ - 14;
    const Axis y =
        panel_.log_y ? Axis::powers(ys.low, ys.high, bottom, top_) : Axis::round(ys.low, ys.high, bottom, top_);
    const Axis x = !panel_.log_x                ? Axis::round(xs.low, xs.high, first, last)
                   : marks.size() <= kMostMarks ? Axis::marked({marks.begin(), marks.end()}, first, last)
                                                : Axis::powers(xs.low, xs.high, first, last);
    draw_frame(x, y);
    if (panel_.groups.empty()) {
      draw_lines(x, y);
    } else {
      draw_bars(y);
    }
  }

 private:
  [[nodiscard]] std::string colour(const Series& series) const {
    const auto at = std::ranges::find(legend_, series.name) - legend_.begin();
    return fmt::format("c{}", static_cast<size_t>(at) % kColours);
  }
  [[nodiscard]] double group_width() const { return width_ / static_cast<double>(panel_.groups.size()); }

  void draw_frame(const Axis& x, const Axis& y) {
    for (const double tick : y.ticks()) {
      svg_.line(left_, y.place(tick), left_ + width_, y.place(tick), "grid");
      svg_.text(left_ - 6, y.place(tick) + 4, fmt::format("{:.4g}", tick), "small", Anchor::kEnd);
    }
    const double bottom = top_ + kPlotHeight;
    svg_.line(left_, bottom, left_ + width_, bottom, "axis");
    svg_.line(left_, top_, left_, bottom, "axis");
    if (panel_.groups.empty()) {
      for (const double tick : x.ticks()) {
        svg_.line(x.place(tick), bottom, x.place(tick), bottom + 4, "axis");
        svg_.text(x.place(tick), bottom + 17, fmt::format("{:.4g}", tick), "small", Anchor::kMiddle);
      }
    }
    for (size_t k = 0; k < panel_.groups.size(); ++k) {
      svg_.text(left_ + group_width() * (static_cast<double>(k) + 0.5), bottom + 17, escape(panel_.groups[k]), "small",
                Anchor::kMiddle);
    }
    svg_.text(left_ + width_ / 2, bottom + 36, escape(panel_.x_title), "small", Anchor::kMiddle);
    svg_.text(left_ - kLeft + 8, top_ - 11, escape(panel_.y_title), "small");
  }

  void draw_error(double x, double from, double to, const std::string& colour) {
    if (std::abs(from - to) < 1) return;
    svg_.line(x, from, x, to, colour + " stroke error");
    for (const double y : {from, to}) svg_.line(x - 3, y, x + 3, y, colour + " stroke error");
  }

  void draw_lines(const Axis& x, const Axis& y) {
    for (const Series& series : panel_.series) {
      const std::string own = colour(series);
      const ChartPoint* last = nullptr;
      for (const ChartPoint& point : series.points) {
        if (!std::isfinite(point.y) || (panel_.log_y && point.y <= 0)) continue;
        if (last != nullptr)
          svg_.line(x.place(last->x), y.place(last->y), x.place(point.x), y.place(point.y),
                    own + (series.dashed ? " stroke line dashed" : " stroke line"));
        draw_error(x.place(point.x), y.place(point.y - point.deviation), y.place(point.y + point.deviation), own);
        if (!series.dashed) svg_.circle(x.place(point.x), y.place(point.y), 3.5, own + " fill");
        last = &point;
      }
    }
  }

  void draw_bars(const Axis& y) {
    const double width = 0.8 * group_width() / static_cast<double>(panel_.series.size());
    for (size_t k = 0; k < panel_.series.size(); ++k) {
      const Series& series = panel_.series[k];
      for (const ChartPoint& point : series.points) {
        if (!std::isfinite(point.y)) continue;
        const double left = left_ + group_width() * (point.x + 0.1) + width * static_cast<double>(k);
        const double zero = y.place(0), end = y.place(point.y);
        svg_.rect(left, std::min(zero, end), std::max(1.0, width - 2), std::abs(zero - end), colour(series) + " fill");
        draw_error(left + width / 2 - 1, y.place(point.y - point.deviation), y.place(point.y + point.deviation), "c7");
      }
    }
  }

  Svg& svg_;
  const Panel& panel_;
  const std::vector<std::string>& legend_;
  double left_, top_, width_;
};

}  // namespace

std::string chart_svg(const Chart& chart) {
  const std::vector<std::string> legend = legend_of(chart);
  double width = 0;
  for (const Panel& panel : chart.panels) width += panel_width(panel);
  width = std::max(width, kLeastWidth);
  // As many names of the legend in a row as fit at a rough width of 7 units a letter.
  std::vector<std::pair<double, size_t>> places;
  double at = kLeft;
  size_t row = 0;
  for (const std::string& name : legend) {
    const double needed = 30 + 7 * static_cast<double>(name.size());
    if (at + needed > width && at > kLeft) at = kLeft, ++row;
    places.emplace_back(at, row);
    at += needed;
  }
  const double top = kHeader + kLegendRow * static_cast<double>(row + 1);
  Svg svg(width, top + kPanelHeight, escape(chart.title), Svg::Place::kFile);
  svg.style(kStyle);
  svg.text(kLeft, 22, escape(chart.title), "strong");
  for (size_t k = 0; k < legend.size(); ++k) {
    const double y = kHeader + kLegendRow * static_cast<double>(places[k].second);
    svg.rect(places[k].first, y, 11, 11, fmt::format("c{} fill", k % kColours), 2);
    svg.text(places[k].first + 16, y + 10, escape(legend[k]), "small");
  }
  double left = 0;
  for (const Panel& panel : chart.panels) {
    PanelDrawing(svg, panel, legend, left, top).draw();
    left += panel_width(panel);
  }
  return svg.finish() + "\n";
}

}  // namespace zkapex
