#include "data/styles.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "data/splits.h"

namespace zkapex {
namespace {

TEST(Styles, SketchDrawsEdgesOnWhitePaper) {
  Image image{6, 6, 1, std::vector<uint8_t>(36, 10)};
  EXPECT_EQ(sketch(image).pixels, std::vector<uint8_t>(36, 255));
  for (size_t row = 0; row < 6; ++row)
    std::fill_n(image.pixels.begin() + static_cast<std::ptrdiff_t>(6 * row + 3), 3, 200);
  const Image drawn = sketch(image);
  for (int64_t row = 0; row < 6; ++row) {
    EXPECT_EQ(drawn.at(row, 0, 0), 255);
    EXPECT_EQ(drawn.at(row, 2, 0), 255 - 4 * 190 / 3 > 0 ? 255 - 4 * 190 / 3 : 2);
    EXPECT_EQ(drawn.at(row, 5, 0), 255);
  }
}

TEST(Styles, AreWhatTheirNamesSay) {
  const Image image{3, 2, 1, {0, 10, 20, 200, 210, 255}};
  EXPECT_EQ(styled(image, Style::kPhoto, 1).pixels, image.pixels);
  EXPECT_EQ(styled(image, Style::kInverted, 1).pixels, (std::vector<uint8_t>{255, 245, 235, 55, 45, 0}));
  EXPECT_EQ(styled(image, Style::kTwoTones, 1).pixels, (std::vector<uint8_t>{0, 0, 0, 255, 255, 255}));
  // Squares of two by two pixels, and what is left of one at the edge.
  EXPECT_EQ(styled(image, Style::kHalf, 1).pixels, (std::vector<uint8_t>{105, 105, 137, 105, 105, 137}));
  EXPECT_EQ(styled(image, Style::kSketch, 1).pixels, sketch(image).pixels);
}

TEST(Styles, NoiseIsTheImagesOwn) {
  const Image grey{16, 16, 3, std::vector<uint8_t>(768, 100)}, white{16, 16, 1, std::vector<uint8_t>(256, 255)};
  const Image one = styled(grey, Style::kNoise, 1);
  EXPECT_EQ(styled(grey, Style::kNoise, 1).pixels, one.pixels);
  EXPECT_NE(styled(grey, Style::kNoise, 2).pixels, one.pixels);
  EXPECT_EQ(*std::ranges::min_element(one.pixels), 36);
  EXPECT_EQ(*std::ranges::max_element(one.pixels), 163);
  const Image snow = styled(white, Style::kNoise, 1);
  EXPECT_EQ(*std::ranges::max_element(snow.pixels), 255);
}

TEST(Styles, ColoursCount) {
  const Image image{2, 1, 3, {255, 0, 0, 0, 0, 255}};  // red is brighter than blue
  const Image tones = styled(image, Style::kTwoTones, 1);
  EXPECT_EQ(tones.channels, 1);
  EXPECT_EQ(tones.pixels, (std::vector<uint8_t>{255, 0}));
  EXPECT_EQ(styled(image, Style::kHalf, 1).pixels, (std::vector<uint8_t>{127, 0, 127, 127, 0, 127}));
}

TEST(Styles, BehindASource) {
  for (const NamedStyle& known : kStyles) {
    const auto source = DataSource::parse("idx:/a#train+" + std::string(known.name));
    ASSERT_TRUE(source.ok());
    EXPECT_EQ(source->style, known.style);
    EXPECT_EQ(source->path, "/a");
    EXPECT_EQ(source->part, "train");
  }
  // A name that is no style is the folder's own.
  EXPECT_EQ(DataSource::parse("images:a+b")->path, "a+b");
}

}  // namespace
}  // namespace zkapex
