#include "tables/chart.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace zkapex {
namespace {

size_t count(const std::string& text, const std::string& what) {
  size_t found = 0;
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++found;
  return found;
}

TEST(Chart, DrawsEveryPointOfALineAndNoneThatIsNotANumber) {
  const Chart chart{
      .title = "a < b > c & \"d\"",
      .panels = {{.title = "one",
                  .x_title = "x",
                  .y_title = "y",
                  .log_x = true,
                  .series = {{.name = "ours", .points = {{1e-8, 10, 1}, {1e-2, 20, 30}, {1, std::nan(""), 0}}},
                             {.name = "exact", .points = {{1e-8, 15, 0}, {1, 15, 0}}, .dashed = true}}}}};
  const std::string svg = chart_svg(chart);
  EXPECT_EQ(count(svg, "<circle"), 2U);
  EXPECT_EQ(count(svg, "stroke line dashed"), 1U);
  EXPECT_EQ(count(svg, "stroke line\""), 1U);
  EXPECT_NE(svg.find("a &lt; b &gt; c &amp; &quot;d&quot;"), std::string::npos);
  EXPECT_NE(svg.find("xmlns="), std::string::npos);
  EXPECT_EQ(svg.find("nan"), std::string::npos);
  EXPECT_EQ(count(svg, ">1e-08<"), 1U);
}

TEST(Chart, BarsBeginAtZeroAlsoBelowIt) {
  const Chart chart{.title = "t",
                    .panels = {{.title = "p",
                                .groups = {"before", "after"},
                                .series = {{.name = "s", .points = {{0, 50, 2}, {1, -25, 0}}}}}}};
  const std::string svg = chart_svg(chart);
  // Heights of the two bars, apart from the legend's square.
  std::vector<double> heights;
  const std::regex bar(R"x(<rect [^>]*height="([0-9.]+)" rx="0.0" class="c0 fill")x");
  for (std::sregex_iterator at(svg.begin(), svg.end(), bar), end; at != end; ++at)
    heights.push_back(std::stod((*at)[1]));
  ASSERT_EQ(heights.size(), 2U);
  EXPECT_NEAR(heights[0], 2 * heights[1], 0.2);
}

TEST(Chart, WhatIsNeverNegativeHasNoAxisBelowZero) {
  const auto svg_of = [](double value) {
    return chart_svg(
        {.title = "t", .panels = {{.title = "p", .series = {{.name = "s", .points = {{0, value, 50}, {1, 90, 0}}}}}}});
  };
  EXPECT_EQ(svg_of(30).find(">-"), std::string::npos);
  EXPECT_NE(svg_of(-30).find(">-"), std::string::npos);
}

TEST(Chart, BarsOnALogarithmicAxisDoNotReachForZero) {
  const std::string svg = chart_svg({.title = "t",
                                     .panels = {{.title = "p",
                                                 .log_y = true,
                                                 .groups = {"before", "after"},
                                                 .series = {{.name = "s", .points = {{0, 5, 2}, {1, 500, 0}}}}}}});
  EXPECT_NE(svg.find(">1000<"), std::string::npos);
  EXPECT_EQ(svg.find("inf"), std::string::npos);
}

TEST(Chart, PlacesStayInsideThePicture) {
  Series many{.name = "m"};
  for (int k = 0; k < 40; ++k) many.points.push_back({std::pow(10.0, k - 20), k * 1e9, 1e8});
  const std::string svg = chart_svg({.title = "t", .panels = {{.title = "p", .log_x = true, .series = {many}}}});
  const std::regex place("c[xy]=\"([-0-9.]+)\"");
  size_t seen = 0;
  for (std::sregex_iterator at(svg.begin(), svg.end(), place), end; at != end; ++at, ++seen) {
    EXPECT_GE(std::stod((*at)[1]), 0);
    EXPECT_LE(std::stod((*at)[1]), 560);
  }
  EXPECT_EQ(seen, 80U);
}

TEST(Chart, WithoutAnythingIsStillAPicture) {
  EXPECT_NE(chart_svg({.title = "empty", .panels = {}}).find("</svg>"), std::string::npos);
  EXPECT_NE(chart_svg({.title = "empty", .panels = {{.title = "p"}}}).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace zkapex
