// Images in memory, and what is done to them before a model sees them.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/bytes.h"
#include "base/result.h"

namespace zkapex {

// Rows of pixels of 1 (grey) or 3 (red, green, blue) bytes.
struct Image {
  int64_t width = 0, height = 0, channels = 1;
  std::vector<uint8_t> pixels;

  [[nodiscard]] uint8_t at(int64_t row, int64_t column, int64_t channel) const {
    return pixels[static_cast<size_t>((row * width + column) * channels + channel)];
  }
};

// PNG or JPEG, told by the first bytes. Sides above 16384 pixels are refused before anything is allocated.
[[nodiscard]] Result<Image> decode_image(ByteView file);

// As Hugging Face's ViT image processor says in preprocessor_config.json.
struct Preprocessing {
  int64_t size = 224;          // both sides
  int64_t channels = 3;        // of the model; grey images are repeated, coloured ones averaged for 1
  double rescale = 1.0 / 255;  // 1 when the configuration turns it off
  std::vector<double> mean = {0.5, 0.5, 0.5}, deviation = {0.5, 0.5, 0.5};  // per channel

  // For a model without the file: ViT's defaults at the given size.
  static Preprocessing for_model(int64_t size, int64_t channels);
};
// preprocessor_config.json of the directory if there is one. Only resizing to a square is supported, bilinear.
[[nodiscard]] Result<Preprocessing> load_preprocessing(const std::filesystem::path& directory, int64_t image_size,
                                                       int64_t channels);

// [channels, size, size] floats: resized (bilinear with the triangle filter widened when shrinking, as Pillow does),
// rescaled, normalised.
void preprocess(const Image& image, const Preprocessing& how, float* out);

}  // namespace zkapex
