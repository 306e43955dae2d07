// Single images with what the models say of them, before and after.
#include <ATen/core/grad_mode.h>
#include <png.h>

#include "demo/measure.h"

namespace zkapex::demo {

namespace {

using nlohmann::ordered_json;

std::string base64(ByteView bytes) {
  constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  for (size_t k = 0; k < bytes.size(); k += 3) {
    const size_t have = std::min<size_t>(3, bytes.size() - k);
    uint32_t word = 0;
    for (size_t i = 0; i < 3; ++i) word = word << 8 | (i < have ? bytes[k + i] : 0U);
    for (size_t i = 0; i < 4; ++i) out += i <= have ? kDigits[word >> (18 - 6 * i) & 63] : '=';
  }
  return out;
}

// Back from what the model sees: (v / 255 − ½) / ½.
std::vector<uint8_t> pixels_of(const Tensor& input) {
  const Tensor grey = input.mul(0.5).add(0.5).mul(255).round().clamp(0, 255).to(at::kByte).contiguous();
  return {grey.data_ptr<uint8_t>(), grey.data_ptr<uint8_t>() + grey.numel()};
}

// The first `count` images of a set that the first model has right, each of another class as far as there are enough.
Result<ordered_json> first_right(const std::vector<const Model*>& models, const Samples& samples, size_t count,
                                 bool distinct, const char* kind) {
  const at::NoGradGuard no_grad;
  ordered_json out = ordered_json::array();
  std::vector<bool> seen(class_names().size());
  const auto name_of = [](int64_t label) { return class_names()[static_cast<size_t>(label)]; };
  for (int64_t k = 0; k < samples.size() && out.size() < count; ++k) {
    ZKAPEX_TRY(const Batch batch, samples.batch({&k, 1}));
    const auto label = batch.labels[0].item<int64_t>();
    if (distinct && seen[static_cast<size_t>(label)]) continue;
    ordered_json predictions;
    for (size_t m = 0; m < models.size(); ++m) {
      const Tensor p = models[m]->logits(batch.to(models[m]->placement()).inputs)[0].softmax(0);
      const auto [confidence, answer] = p.max(0);
      if (m == 0 && answer.item<int64_t>() != label) break;
      predictions[kModelKeys[m]] = {{"class", name_of(answer.item<int64_t>())},
                                    {"confidence", confidence.item<double>()},
                                    {"right", answer.item<int64_t>() == label}};
    }
    if (predictions.empty()) continue;
    seen[static_cast<size_t>(label)] = true;
    const auto size = static_cast<uint32_t>(batch.inputs.size(3));
    ZKAPEX_TRY(const std::string image, png_data_address(pixels_of(batch.inputs[0][0]), size, size));
    out.push_back({{"kind", kind}, {"class", name_of(label)}, {"predictions", predictions}, {"image", image}});
  }
  return out;
}

}  // namespace

Result<std::string> png_data_address(const std::vector<uint8_t>& pixels, uint32_t width, uint32_t height) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.width = width;
  image.height = height;
  image.format = PNG_FORMAT_GRAY;
  Bytes out(PNG_IMAGE_PNG_SIZE_MAX(image));
  png_alloc_size_t size = out.size();
  if (png_image_write_to_memory(&image, out.data(), &size, 0, pixels.data(), 0, nullptr) == 0) {
    return error("an image could not be written as PNG: {}", image.message);
  }
  out.resize(size);
  return "data:image/png;base64," + base64(out);
}

Result<ordered_json> example_predictions(const std::vector<const Model*>& models, const MeasuredSets& sets) {
  return catch_torch([&]() -> Result<ordered_json> {
    constexpr size_t kOfEach = 4;
    ZKAPEX_TRY(ordered_json out, first_right(models, sets.held_out, kOfEach, false, "photo"));
    ZKAPEX_TRY(const ordered_json drawings, first_right(models, sets.personal, kOfEach, true, "drawing"));
    out.insert(out.end(), drawings.begin(), drawings.end());
    return out;
  });
}

}  // namespace zkapex::demo
