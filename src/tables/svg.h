// A drawing in SVG, put together from a few shapes. Coordinates grow to the right and down.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace zkapex {

class Svg {
 public:
  enum class Anchor { kStart, kMiddle, kEnd };

  // In a page the picture takes its style from there; a file of its own has a style and a size.
  enum class Place { kPage, kFile };

  // `title` is read out to who cannot see the picture.
  Svg(double width, double height, std::string_view title, Place place = Place::kPage)
      : text_(fmt::format(
            "<svg {}viewBox=\"0 0 {:.0f} {:.0f}\" role=\"img\" aria-label=\"{}\">",
            place == Place::kFile ? fmt::format("xmlns=\"http://www.w3.org/2000/svg\" width=\"{:.0f}\" ", width) : "",
            width, height, title)) {}

  void style(std::string_view css) { text_ += fmt::format("<style>{}</style>", css); }
  void rect(double x, double y, double width, double height, std::string_view style, double round = 0) {
    text_ += fmt::format(R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="{:.1f}" class="{}"/>)", x, y,
                         width, height, round, style);
  }
  void line(double x1, double y1, double x2, double y2, std::string_view style) {
    text_ +=
        fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" class="{}"/>)", x1, y1, x2, y2, style);
  }
  void circle(double x, double y, double radius, std::string_view style) {
    text_ += fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" class="{}"/>)", x, y, radius, style);
  }
  // A horizontal arrow.
  void arrow(double from, double to, double y, std::string_view style) {
    const double back = to > from ? -7 : 7;
    line(from, y, to + back / 2, y, style);
    text_ += fmt::format(R"(<path d="M{:.1f} {:.1f} l{:.1f} -4.5 v9 z" class="{} head"/>)", to, y, back, style);
  }
  // `content` is HTML already.
  void text(double x, double y, std::string_view content, std::string_view style, Anchor anchor = Anchor::kStart) {
    constexpr std::string_view kAnchors[] = {"start", "middle", "end"};
    text_ += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}" class="{}">{}</text>)", x, y,
                         kAnchors[static_cast<int>(anchor)], style, content);
  }

  [[nodiscard]] std::string finish() { return std::move(text_) + "</svg>"; }

 private:
  std::string text_;
};

}  // namespace zkapex
