#include "data/image.h"

#include <cstdio>  // jpeglib.h needs it first

#include <jpeglib.h>
#include <png.h>

#include <cstdlib>

#include "base/result_testing.h"
#include "data/documents.h"
#include "data/folders_testing.h"

namespace zkapex {
namespace {

using testing::refusal;

TEST(Image, ResizesAsPillowDoes) {
  // By hand after Pillow's algorithm: the middle of three lies halfway between two, the ends on them.
  const Image image{2, 2, 1, {0, 100, 200, 60}};
  Preprocessing how = Preprocessing::for_model(3, 1);
  how.rescale = 1, how.mean = {0}, how.deviation = {1};
  std::vector<float> out(9);
  preprocess(image, how, out.data());
  EXPECT_EQ(out, (std::vector<float>{0, 50, 100, 100, 90, 80, 200, 130, 60}));
  // Shrinking averages: 4 → 2 with the widened triangle weighs (3, 3, 1) / 7 at the border.
  const Image row{4, 4, 1, {0, 70, 140, 210, 0, 70, 140, 210, 0, 70, 140, 210, 0, 70, 140, 210}};
  how.size = 2;
  preprocess(row, how, out.data());
  EXPECT_EQ(out[0], 50);
  EXPECT_EQ(out[1], 160);
}

TEST(Image, NormalisesAndConvertsChannels) {
  std::vector<float> out(3);
  preprocess(Image{1, 1, 1, {255}}, Preprocessing::for_model(1, 3), out.data());
  EXPECT_EQ(out, (std::vector<float>{1, 1, 1}));
  preprocess(Image{1, 1, 3, {0, 255, 0}}, Preprocessing::for_model(1, 1), out.data());
  EXPECT_NEAR(out[0], 150.0 / 255 * 2 - 1, 1e-6);
}

TEST(Image, PreprocessorConfigurations) {
  const TemporaryDirectory directory("preprocessor");
  const auto with = [&](const nlohmann::json& document) {
    EXPECT_TRUE(write_json(directory.path() / "preprocessor_config.json", document).ok());
    return load_preprocessing(directory.path(), 32, 3);
  };
  const auto full = with({{"size", {{"height", 32}, {"width", 32}}},
                          {"image_mean", {0.1, 0.2, 0.3}},
                          {"image_std", {1, 2, 3}},
                          {"resample", 2}});
  ASSERT_TRUE(full.ok()) << full.error().message;
  EXPECT_EQ(full->mean[2], 0.3);
  EXPECT_EQ(with({{"size", 32}, {"do_normalize", false}})->deviation[0], 1);
  EXPECT_FALSE(with({{"size", 64}}).ok());
  EXPECT_NE(refusal(with({{"size", {{"height", 32}, {"width", 16}}}})).find("not square"), std::string::npos);
  EXPECT_FALSE(with({{"resample", 3}}).ok());
  EXPECT_FALSE(with({{"image_mean", {0.5}}}).ok());
  EXPECT_FALSE(with({{"image_std", {0, 1, 1}}}).ok());
}

Bytes encode_jpeg(const Image& image) {
  jpeg_compress_struct jpeg;
  jpeg_error_mgr errors;
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_width = static_cast<JDIMENSION>(image.width);
  jpeg.image_height = static_cast<JDIMENSION>(image.height);
  jpeg.input_components = static_cast<int>(image.channels);
  jpeg.in_color_space = image.channels == 3 ? JCS_RGB : JCS_GRAYSCALE;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, 100, TRUE);
  jpeg_start_compress(&jpeg, TRUE);
  std::vector<uint8_t> pixels = image.pixels;
  for (int64_t row = 0; row < image.height; ++row) {
    JSAMPROW line = &pixels[static_cast<size_t>(row * image.width * image.channels)];
    jpeg_write_scanlines(&jpeg, &line, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  Bytes out(buffer, buffer + size);
  std::free(buffer);
  return out;
}

TEST(Image, DecodesJpeg) {
  for (const int64_t channels : {1, 3}) {
    const Image image{16, 8, channels, std::vector<uint8_t>(static_cast<size_t>(128 * channels), 90)};
    const Bytes file = encode_jpeg(image);
    const auto decoded = decode_image(file);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(decoded->width, 16);
    EXPECT_EQ(decoded->height, 8);
    EXPECT_EQ(decoded->channels, channels);
    for (const uint8_t value : decoded->pixels) EXPECT_NEAR(value, 90, 1);
    EXPECT_FALSE(decode_image(ByteView(file).first(20)).ok());
  }
}

Bytes encode_png(const Image& image) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  png.width = static_cast<png_uint_32>(image.width);
  png.height = static_cast<png_uint_32>(image.height);
  png.format = image.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = 0;
  EXPECT_NE(png_image_write_to_memory(&png, nullptr, &size, 0, image.pixels.data(), 0, nullptr), 0);
  Bytes out(size);
  EXPECT_NE(png_image_write_to_memory(&png, out.data(), &size, 0, image.pixels.data(), 0, nullptr), 0);
  return out;
}

TEST(Image, DecodesPng) {
  for (const int64_t channels : {1, 3}) {
    Image image{5, 4, channels, std::vector<uint8_t>(static_cast<size_t>(20 * channels))};
    for (size_t k = 0; k < image.pixels.size(); ++k) image.pixels[k] = static_cast<uint8_t>(3 * k);
    const Bytes file = encode_png(image);
    const auto decoded = decode_image(file);
    ASSERT_TRUE(decoded.ok()) << decoded.error().message;
    EXPECT_EQ(decoded->width, 5);
    EXPECT_EQ(decoded->channels, channels);
    EXPECT_EQ(decoded->pixels, image.pixels);
    // The header is whole, the pixels are not; then the header is not either.
    for (const size_t length : {file.size() - 20, size_t{20}})
      EXPECT_NE(refusal(decode_image(ByteView(file).first(length))).find("not a readable PNG"), std::string::npos);
  }
}

TEST(Image, SidesAreLimited) {
  const std::vector<uint8_t> pixels(16385, 90);
  for (const Image& image : {Image{16385, 1, 1, pixels}, Image{1, 16385, 1, pixels}}) {
    EXPECT_NE(refusal(decode_image(encode_png(image))).find("is not supported"), std::string::npos);
    EXPECT_NE(refusal(decode_image(encode_jpeg(image))).find("larger than 16384"), std::string::npos);
  }
  EXPECT_TRUE(decode_image(encode_png(Image{16384, 1, 1, pixels})).ok());
}

TEST(Image, BrokenFilesAreErrors) {
  EXPECT_NE(refusal(decode_image({})).find("neither"), std::string::npos);
  EXPECT_NE(refusal(decode_image(view("GIF89a"))).find("neither"), std::string::npos);
  EXPECT_FALSE(decode_image(view("\xFF\xD8\xFF\xE0 not a picture")).ok());
}

}  // namespace
}  // namespace zkapex
