// Arbitrary bytes as a PNG or JPEG file: never a crash, and what is decoded can be drawn and given to a model.
#include <algorithm>
#include <cstdlib>

#include "data/styles.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zkapex;
  const auto image = decode_image({data, size});
  if (!image.ok()) return 0;
  if (image->width < 1 || image->height < 1 || (image->channels != 1 && image->channels != 3)) std::abort();
  if (image->pixels.size() != static_cast<size_t>(image->width * image->height * image->channels)) std::abort();
  if (image->pixels.size() > (size_t{1} << 20)) return 0;  // large pictures only cost time
  std::vector<float> out(3 * 8 * 8);
  const auto check = [&](Style style) {
    preprocess(styled(*image, style, size), Preprocessing::for_model(8, 3), out.data());
    if (std::ranges::any_of(out, [](float x) { return !(x >= -1 && x <= 1); })) std::abort();
  };
  check(Style::kPhoto);
  for (const NamedStyle& known : kStyles) check(known.style);
  return 0;
}
