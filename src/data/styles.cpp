#include "data/styles.h"

#include <algorithm>
#include <cstdlib>

#include "data/shuffle.h"

namespace zkapex {

namespace {

// Of each pixel, 0 to 255.
std::vector<int> brightness_of(const Image& image) {
  std::vector<int> out;
  out.reserve(static_cast<size_t>(image.width * image.height));
  for (int64_t row = 0; row < image.height; ++row) {
    for (int64_t column = 0; column < image.width; ++column) {
      out.push_back(
          image.channels == 1
              ? image.at(row, column, 0)
              : (77 * image.at(row, column, 0) + 150 * image.at(row, column, 1) + 29 * image.at(row, column, 2)) / 256);
    }
  }
  return out;
}

Image inverted(Image image) {
  for (uint8_t& value : image.pixels) value = static_cast<uint8_t>(255 - value);
  return image;
}

// Black below the mean brightness, white from there on.
Image two_tones(const Image& image) {
  const std::vector<int> grey = brightness_of(image);
  int64_t sum = 0;
  for (const int value : grey) sum += value;
  Image out{image.width, image.height, 1, {}};
  const auto count = static_cast<int64_t>(grey.size());
  for (const int value : grey) out.pixels.push_back(value * count < sum ? 0 : 255);
  return out;
}

// Up to 64 more or less, drawn for every value.
Image noisy(Image image, uint64_t number) {
  SampleRandom random(number);
  for (uint8_t& value : image.pixels) {
    const int change = static_cast<int>(random.next() >> 57) - 64;
    value = static_cast<uint8_t>(std::clamp(value + change, 0, 255));
  }
  return image;
}

// Each square of two by two pixels becomes its mean.
Image halved(const Image& image) {
  Image out = image;
  for (int64_t row = 0; row < image.height; ++row) {
    for (int64_t column = 0; column < image.width; ++column) {
      for (int64_t channel = 0; channel < image.channels; ++channel) {
        int sum = 0, count = 0;
        for (int64_t r = row / 2 * 2; r < std::min(row / 2 * 2 + 2, image.height); ++r) {
          for (int64_t c = column / 2 * 2; c < std::min(column / 2 * 2 + 2, image.width); ++c) {
            sum += image.at(r, c, channel);
            ++count;
          }
        }
        out.pixels[static_cast<size_t>((row * image.width + column) * image.channels + channel)] =
            static_cast<uint8_t>(sum / count);
      }
    }
  }
  return out;
}

}  // namespace

std::optional<Style> style_named(std::string_view name) {
  for (const NamedStyle& known : kStyles) {
    if (known.name == name) return known.style;
  }
  return {};
}

std::string_view name(Style style) {
  for (const NamedStyle& known : kStyles) {
    if (known.style == style) return known.name;
  }
  return "";
}

Image styled(const Image& image, Style style, uint64_t number) {
  switch (style) {
    case Style::kPhoto:
      return image;
    case Style::kSketch:
      return sketch(image);
    case Style::kInverted:
      return inverted(image);
    case Style::kTwoTones:
      return two_tones(image);
    case Style::kNoise:
      return noisy(image, number);
    case Style::kHalf:
      break;
  }
  return halved(image);
}

Image sketch(const Image& image) {
  const int64_t w = image.width, h = image.height;
  const std::vector<int> grey = brightness_of(image);
  const auto brightness = [&](int64_t row, int64_t column) {
    return grey[static_cast<size_t>(std::clamp<int64_t>(row, 0, h - 1) * w + std::clamp<int64_t>(column, 0, w - 1))];
  };
  Image out{w, h, 1, std::vector<uint8_t>(static_cast<size_t>(w * h))};
  for (int64_t r = 0; r < h; ++r) {
    for (int64_t c = 0; c < w; ++c) {
      const int across = (brightness(r - 1, c + 1) - brightness(r - 1, c - 1)) +
                         2 * (brightness(r, c + 1) - brightness(r, c - 1)) +
                         (brightness(r + 1, c + 1) - brightness(r + 1, c - 1));
      const int down = (brightness(r + 1, c - 1) - brightness(r - 1, c - 1)) +
                       2 * (brightness(r + 1, c) - brightness(r - 1, c)) +
                       (brightness(r + 1, c + 1) - brightness(r - 1, c + 1));
      const int line = std::min(255, (std::abs(across) + std::abs(down)) / 3);
      out.pixels[static_cast<size_t>(r * w + c)] = static_cast<uint8_t>(255 - line);
    }
  }
  return out;
}

}  // namespace zkapex
