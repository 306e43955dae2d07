#include <cstdio>  // jpeglib.h needs it first

#include <jpeglib.h>
#include <png.h>

#include <csetjmp>
#include <string_view>

#include "data/image.h"

namespace zkapex {

namespace {

constexpr int64_t kMaxSide = 16384;

Status check_sides(int64_t width, int64_t height) {
  if (width <= 0 || height <= 0 || width > kMaxSide || height > kMaxSide) {
    return error("an image of {} by {} pixels is not supported (sides of 1 to {})", width, height, kMaxSide);
  }
  return Done{};
}

Result<Image> decode_png(ByteView file) {
  png_image png = {};
  png.version = PNG_IMAGE_VERSION;
  const auto fail = [&] {
    Error out = error("not a readable PNG: {}", std::string_view(png.message));
    png_image_free(&png);
    return out;
  };
  if (!png_image_begin_read_from_memory(&png, file.data(), file.size())) return fail();
  if (const Status sides = check_sides(png.width, png.height); !sides.ok()) {
    png_image_free(&png);
    return sides.error();
  }
  const bool color = (png.format & PNG_FORMAT_FLAG_COLOR) != 0;
  png.format = color ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;  // transparency is dropped over black
  const png_color black = {0, 0, 0};
  Image out{png.width, png.height, color ? 3 : 1, std::vector<uint8_t>(PNG_IMAGE_SIZE(png))};
  if (!png_image_finish_read(&png, &black, out.pixels.data(), 0, nullptr)) return fail();
  return out;
}

// libjpeg reports by calling error_exit, which must not return: it jumps to where decoding began.
struct JpegErrors {
  jpeg_error_mgr manager;
  std::jmp_buf back;
  char message[JMSG_LENGTH_MAX];
};

// Free of objects with destructors, which a jump would skip. False when the file is bad.
bool read_jpeg(ByteView file, JpegErrors& errors, Image& out, bool& too_large) {
  jpeg_decompress_struct jpeg;
  jpeg.err = jpeg_std_error(&errors.manager);
  errors.manager.error_exit = [](j_common_ptr info) {
    auto* e = reinterpret_cast<JpegErrors*>(info->err);
    info->err->format_message(info, e->message);
    std::longjmp(e->back, 1);
  };
  errors.manager.output_message = [](j_common_ptr) {};
  if (setjmp(errors.back) != 0) {
    jpeg_destroy_decompress(&jpeg);
    return false;
  }
  jpeg_create_decompress(&jpeg);
  jpeg_mem_src(&jpeg, file.data(), file.size());
  jpeg_read_header(&jpeg, TRUE);
  jpeg.out_color_space = jpeg.num_components == 1 ? JCS_GRAYSCALE : JCS_RGB;
  too_large = !check_sides(jpeg.image_width, jpeg.image_height).ok();
  if (!too_large) {
    jpeg_start_decompress(&jpeg);
    out.width = jpeg.output_width;
    out.height = jpeg.output_height;
    out.channels = jpeg.output_components;
    const size_t stride = static_cast<size_t>(out.width * out.channels);
    out.pixels.resize(stride * static_cast<size_t>(out.height));
    while (jpeg.output_scanline < jpeg.output_height) {
      JSAMPROW row = out.pixels.data() + stride * jpeg.output_scanline;
      jpeg_read_scanlines(&jpeg, &row, 1);
    }
    jpeg_finish_decompress(&jpeg);
  }
  jpeg_destroy_decompress(&jpeg);
  return true;
}

Result<Image> decode_jpeg(ByteView file) {
  JpegErrors errors;
  Image out;
  bool too_large = false;
  if (!read_jpeg(file, errors, out, too_large)) {
    return error("not a readable JPEG: {}", std::string_view(errors.message));
  }
  if (too_large) return error("the image is larger than {} pixels on a side", kMaxSide);
  return out;
}

}  // namespace

Result<Image> decode_image(ByteView file) {
  if (file.size() >= 8 && file[0] == 0x89 && file[1] == 'P' && file[2] == 'N' && file[3] == 'G')
    return decode_png(file);
  if (file.size() >= 3 && file[0] == 0xFF && file[1] == 0xD8 && file[2] == 0xFF) return decode_jpeg(file);
  return error("neither a PNG nor a JPEG file");
}

}  // namespace zkapex
