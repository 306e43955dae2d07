#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "log/time.h"
#include "service/dashboard_html.h"

namespace zkapex {

namespace {

constexpr double kWidth = 720, kHeight = 240, kLeft = 48, kRight = 12, kTop = 12, kBottom = 28;
constexpr size_t kMostPoints = 48;

struct ChartScale {
  UnixTime from, to;
  double most;

  [[nodiscard]] double x(UnixTime t) const {
    const double part = static_cast<double>(t - from) / static_cast<double>(std::max<UnixTime>(1, to - from));
    return kLeft + std::clamp(part, 0.0, 1.0) * (kWidth - kLeft - kRight);
  }
  [[nodiscard]] double y(double count) const { return kHeight - kBottom - count / most * (kHeight - kTop - kBottom); }
};

// 1, 2 or 5 times a power of ten, so that there are at most five lines.
double tick_of(double most) {
  const double rough = std::max(1.0, most / 4);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    if (factor * power >= rough) return factor * power;
  }
  return rough;
}

struct Series {
  const char* name;
  uint64_t ProgressPoint::*count;
};
constexpr Series kSeries[] = {{"received", &ProgressPoint::received},
                              {"accepted", &ProgressPoint::accepted},
                              {"rejected", &ProgressPoint::rejected}};

std::string line_of(const ChartInput& input, const ChartScale& scale, const Series& series) {
  uint64_t sum = 0;
  std::string path = fmt::format("M{:.1f} {:.1f}", scale.x(scale.from), scale.y(0));
  for (const ProgressPoint& point : input.points) {
    sum += point.*series.count;
    path += fmt::format(" L{:.1f} {:.1f}", scale.x(std::min(point.from + input.interval, input.now)),
                        scale.y(static_cast<double>(sum)));
  }
  path += fmt::format(" L{:.1f} {:.1f}", scale.x(std::min(input.now, scale.to)), scale.y(static_cast<double>(sum)));
  return fmt::format("<path class=\"line {}\" d=\"{}\"/>", series.name, path);
}

std::string axes(const ChartInput& input, const ChartScale& scale) {
  std::string out;
  const double tick = tick_of(scale.most);
  for (double at = 0; at <= scale.most; at += tick)
    out += fmt::format(
        "<line class=\"grid\" x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>"
        "<text x=\"{3:.0f}\" y=\"{4:.1f}\" text-anchor=\"end\">{5:.0f}</text>",
        kLeft, kWidth - kRight, scale.y(at), kLeft - 6, scale.y(at) + 4, at);
  for (const auto& [time, anchor] : {std::pair(scale.from, "start"), std::pair(scale.to, "end")})
    out += fmt::format("<text x=\"{:.0f}\" y=\"{:.0f}\" text-anchor=\"{}\">{}</text>", scale.x(time), kHeight - 8,
                       anchor, to_rfc3339(time).substr(0, 10));
  if (input.due > 0)
    out += fmt::format("<line class=\"due\" x1=\"{0:.0f}\" x2=\"{1:.0f}\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/>", kLeft,
                       kWidth - kRight, scale.y(static_cast<double>(input.due)));
  const bool in_right_half = input.now - scale.from > (scale.to - scale.from) / 2;
  if (input.now > scale.from && input.now < scale.to)
    out += fmt::format(
        "<line class=\"now\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1:.0f}\" y2=\"{2:.0f}\"/>"
        "<text x=\"{3:.1f}\" y=\"{4:.0f}\" text-anchor=\"{5}\">now</text>",
        scale.x(input.now), kTop, kHeight - kBottom, scale.x(input.now) + (in_right_half ? -4 : 4),
        kHeight - kBottom - 6, in_right_half ? "end" : "start");
  return out;
}

}  // namespace

UnixTime chart_interval(UnixTime opens, UnixTime deadline) {
  const UnixTime length = std::max<UnixTime>(1, deadline - opens);
  for (const UnixTime interval : {60, 300, 900, 3'600, 10'800, 21'600, 43'200, 86'400}) {
    if (length / interval <= static_cast<UnixTime>(kMostPoints)) return interval;
  }
  return length / static_cast<UnixTime>(kMostPoints) + 1;
}

std::string progress_chart(const ChartInput& input) {
  uint64_t sums[std::size(kSeries)] = {};
  std::string table;
  for (const ProgressPoint& point : input.points) {
    table += fmt::format("<tr><th scope=\"row\">{}</th>", time_html(point.from));
    for (size_t k = 0; k < std::size(kSeries); ++k) {
      sums[k] += point.*kSeries[k].count;
      table += fmt::format("<td>{}</td>", sums[k]);
    }
    table += "</tr>";
  }
  const uint64_t most = std::max({input.due, sums[0], sums[1], sums[2], uint64_t{1}});
  const ChartScale scale{input.opens, input.deadline, static_cast<double>(most) * 1.05};
  const std::string summary = fmt::format("{} of {} due clients accepted, {} verdicts rejected, {} uploads received",
                                          sums[1], input.due, sums[2], sums[0]);
  std::string lines;
  for (const Series& series : kSeries) lines += line_of(input, scale, series);
  return fmt::format(
      "<figure class=\"chart\">\n<figcaption>Progress until the deadline: "
      "<span class=\"key received\">received</span> <span class=\"key accepted\">accepted</span> "
      "<span class=\"key rejected\">rejected</span> <span class=\"key due\">due</span></figcaption>\n"
      "<svg viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">{}{}</svg>\n"
      "<details><summary>The same as a table</summary><table><thead><tr><th scope=\"col\">from</th>"
      "<th scope=\"col\">received</th><th scope=\"col\">accepted</th><th scope=\"col\">rejected</th></tr></thead>"
      "<tbody>{}</tbody></table></details>\n</figure>\n",
      kWidth, kHeight, summary, axes(input, scale), lines, table);
}

}  // namespace zkapex
