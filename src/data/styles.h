// Images in another style: a domain of their own, made of photos that everyone has.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "data/image.h"

namespace zkapex {

enum class Style { kPhoto, kSketch, kInverted, kTwoTones, kNoise, kHalf };

struct NamedStyle {
  Style style;
  std::string_view name;
};
// As they stand behind a data source, after a "+". Photos have no name.
inline constexpr std::array<NamedStyle, 5> kStyles = {{{Style::kSketch, "sketch"},
                                                       {Style::kInverted, "inverted"},
                                                       {Style::kTwoTones, "tones"},
                                                       {Style::kNoise, "noise"},
                                                       {Style::kHalf, "half"}}};
[[nodiscard]] std::optional<Style> style_named(std::string_view name);
[[nodiscard]] std::string_view name(Style style);

// Deterministic, by integers only; `number` is the image's own, from which noise is drawn.
[[nodiscard]] Image styled(const Image& image, Style style, uint64_t number);

// A pencil drawing of an image: white paper, dark lines where the brightness changes. The gradient of the smoothed
// brightness (3×3 Sobel), inverted; grey.
[[nodiscard]] Image sketch(const Image& image);

}  // namespace zkapex
