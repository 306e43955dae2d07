#include "data/image.h"

#include <algorithm>
#include <cmath>

#include "data/documents.h"

namespace zkapex {

Preprocessing Preprocessing::for_model(int64_t size, int64_t channels) {
  Preprocessing out;
  out.size = size;
  out.channels = channels;
  out.mean.assign(static_cast<size_t>(channels), 0.5);
  out.deviation.assign(static_cast<size_t>(channels), 0.5);
  return out;
}

namespace {

using nlohmann::json;

// "size" is a number in old files and {"height", "width"} in newer ones.
Result<int64_t> square_side(const json& document, int64_t fallback) {
  if (!document.contains("size")) return fallback;
  const json& size = document["size"];
  if (size.is_number_integer()) return size.get<int64_t>();
  ZKAPEX_TRY(const int64_t height, json_value<int64_t>(size, "height"));
  ZKAPEX_TRY(const int64_t width, json_value<int64_t>(size, "width"));
  if (height != width) return error("images of {} by {} are not square", height, width);
  return height;
}

Result<std::vector<double>> per_channel(const json& document, const char* key, int64_t channels, double fallback) {
  const std::vector<double> defaults(static_cast<size_t>(channels), fallback);
  ZKAPEX_TRY(auto values, json_value_or<std::vector<double>>(document, key, defaults));
  if (values.size() != defaults.size())
    return error("'{}' has {} values for {} channels", key, values.size(), channels);
  return values;
}

Result<Preprocessing> parse_preprocessing(const json& document, int64_t image_size, int64_t channels) {
  Preprocessing out;
  out.channels = channels;
  ZKAPEX_TRY(const bool normalize, json_value_or<bool>(document, "do_normalize", true));
  ZKAPEX_TRY(const bool rescale, json_value_or<bool>(document, "do_rescale", true));
  ZKAPEX_TRY(const int64_t filter, json_value_or<int64_t>(document, "resample", 2));
  if (filter != 2) return error("'resample' is {}, and only 2 (bilinear) is supported", filter);
  ZKAPEX_TRY(out.size, square_side(document, image_size));
  if (out.size != image_size) return error("images of {} are made for a model that takes {}", out.size, image_size);
  ZKAPEX_TRY(out.rescale, json_value_or<double>(document, "rescale_factor", 1.0 / 255));
  if (!rescale) out.rescale = 1;
  ZKAPEX_TRY(out.mean, per_channel(document, "image_mean", channels, 0.5));
  ZKAPEX_TRY(out.deviation, per_channel(document, "image_std", channels, 0.5));
  if (!normalize) {
    std::ranges::fill(out.mean, 0.0);
    std::ranges::fill(out.deviation, 1.0);
  }
  if (std::ranges::any_of(out.deviation, [](double d) { return !(d > 0); }))
    return error("'image_std' is not positive");
  return out;
}

// For each output position the first source position and the weights of the triangle filter, which sum to one.
struct Taps {
  int64_t first;
  std::vector<float> weights;
};

std::vector<Taps> triangle_taps(int64_t from, int64_t to) {
  const double scale = static_cast<double>(from) / static_cast<double>(to), support = std::max(scale, 1.0);
  std::vector<Taps> out;
  for (int64_t k = 0; k < to; ++k) {
    const double center = (static_cast<double>(k) + 0.5) * scale;
    const auto first = std::max<int64_t>(0, std::lround(center - support));
    const auto last = std::min<int64_t>(from, std::lround(center + support));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t j = first; j < last; ++j) {
      const double distance = std::abs((static_cast<double>(j) + 0.5 - center) / support);
      weights.push_back(std::max(0.0, 1.0 - distance));
      sum += weights.back();
    }
    Taps taps{first, {}};
    for (const double w : weights) taps.weights.push_back(static_cast<float>(w / sum));
    out.push_back(std::move(taps));
  }
  return out;
}

// One channel of the model's input, before resizing.
std::vector<float> channel_plane(const Image& image, int64_t channel, int64_t channels) {
  std::vector<float> out(static_cast<size_t>(image.width * image.height));
  for (int64_t row = 0; row < image.height; ++row) {
    for (int64_t column = 0; column < image.width; ++column) {
      const auto byte = [&](int64_t c) { return static_cast<float>(image.at(row, column, c)); };
      float value = byte(std::min(channel, image.channels - 1));
      if (channels == 1 && image.channels == 3) {
        // Rec. 601 luma, as Pillow converts colour to grey.
        value = std::round(0.299F * byte(0) + 0.587F * byte(1) + 0.114F * byte(2));
      }
      out[static_cast<size_t>(row * image.width + column)] = value;
    }
  }
  return out;
}

}  // namespace

Result<Preprocessing> load_preprocessing(const std::filesystem::path& directory, int64_t image_size, int64_t channels) {
  const auto path = directory / "preprocessor_config.json";
  if (!std::filesystem::exists(path)) return Preprocessing::for_model(image_size, channels);
  ZKAPEX_TRY(const json document, read_json(path));
  auto out = parse_preprocessing(document, image_size, channels);
  if (!out.ok()) return out.error().within(path.string());
  return out;
}

void preprocess(const Image& image, const Preprocessing& how, float* out) {
  const std::vector<Taps> across = triangle_taps(image.width, how.size), down = triangle_taps(image.height, how.size);
  const auto side = static_cast<size_t>(how.size), width = static_cast<size_t>(image.width);
  // Bytes between the two directions and after them, as Pillow stores them.
  const auto to_byte = [](float value) { return std::clamp(std::floor(value + 0.5F), 0.0F, 255.0F); };
  for (int64_t channel = 0; channel < how.channels; ++channel) {
    const std::vector<float> plane = channel_plane(image, channel, how.channels);
    std::vector<float> rows(static_cast<size_t>(image.height) * side);
    for (size_t row = 0; row < static_cast<size_t>(image.height); ++row) {
      for (size_t k = 0; k < side; ++k) {
        float sum = 0;
        const float* source = &plane[row * width + static_cast<size_t>(across[k].first)];
        for (size_t j = 0; j < across[k].weights.size(); ++j) sum += across[k].weights[j] * source[j];
        rows[row * side + k] = to_byte(sum);
      }
    }
    const auto c = static_cast<size_t>(channel);
    const auto scale = static_cast<float>(how.rescale);
    const auto mean = static_cast<float>(how.mean[c]), deviation = static_cast<float>(how.deviation[c]);
    for (size_t r = 0; r < side; ++r) {
      for (size_t k = 0; k < side; ++k) {
        float sum = 0;
        for (size_t j = 0; j < down[r].weights.size(); ++j) {
          sum += down[r].weights[j] * rows[(static_cast<size_t>(down[r].first) + j) * side + k];
        }
        out[(c * side + r) * side + k] = (to_byte(sum) * scale - mean) / deviation;
      }
    }
  }
}

}  // namespace zkapex
