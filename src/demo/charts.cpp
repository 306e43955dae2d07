#include "demo/charts.h"

#include <algorithm>
#include <cmath>

#include "tables/svg.h"

namespace zkapex::demo {

namespace {

using nlohmann::ordered_json;
using Anchor = Svg::Anchor;

constexpr double kWidth = 360;

constexpr std::string_view kModels[] = {"before", "mask_only", "ours", "exact"};

}  // namespace

std::string_view model_title(std::string_view key) {
  if (key == "before") return "before";
  if (key == "mask_only") return "mask only";
  if (key == "ours") return "zkapex";
  return "exact retraining";
}

std::string accuracy_bars(const ordered_json& client, std::string_view forgotten) {
  constexpr double kLeft = 104, kRight = 44, kBar = 15, kStep = 20, kGroup = 112, kTop = 24;
  const double scale = (kWidth - kLeft - kRight) / 100;
  Svg svg(kWidth, kTop + 2 * kGroup + 12, "Accuracies of the client's models");
  const std::pair<const char*, std::string> groups[] = {
      {"forget_accuracy", fmt::format("photos of what is forgotten ({})", escaped(forgotten))},
      {"personal_accuracy", "own drawings"}};
  double y = kTop;
  for (const auto& [key, title] : groups) {
    svg.text(0, y - 8, title, "strong");
    for (const std::string_view model : kModels) {
      const double value = 100 * client.at("models").at(std::string(model)).at(key).get<double>();
      svg.text(kLeft - 8, y + kBar - 3.5, model_title(model), "", Anchor::kEnd);
      svg.rect(kLeft, y, std::max(1.0, value * scale), kBar, model, 2);
      svg.text(kLeft + value * scale + 5, y + kBar - 3.5, fmt::format("{:.1f}", value), "value");
      y += kStep;
    }
    y += kGroup - 4 * kStep;
  }
  const double bottom = y - 26;
  svg.line(kLeft, bottom, kWidth - kRight, bottom, "axis");
  for (const int tick : {0, 25, 50, 75, 100}) {
    svg.line(kLeft + tick * scale, bottom, kLeft + tick * scale, bottom + 4, "axis");
    svg.text(kLeft + tick * scale, bottom + 16, fmt::format("{}", tick), "small", Anchor::kMiddle);
  }
  svg.text(kLeft, bottom + 30, "share of images that the model has right (%)", "small");
  return svg.finish();
}

double tallest_bin(const ordered_json& client) {
  double tallest = 0;
  for (const std::string_view model : kModels) {
    for (const char* side : {"members", "others"}) {
      for (const double share : client.at("losses").at(std::string(model)).at(side).get<std::vector<double>>())
        tallest = std::max(tallest, share);
    }
  }
  return tallest;
}

std::string loss_histogram(const ordered_json& client, const std::string& model, double tallest) {
  constexpr double kLeft = 34, kTop = 26, kHalf = 62, kAxis = 20;
  const ordered_json& losses = client.at("losses");
  const auto bins = losses.at("bins").get<size_t>();
  const double top = losses.at("bin_width").get<double>() * static_cast<double>(bins);
  const double step = (kWidth - kLeft - 6) / static_cast<double>(bins);
  Svg svg(kWidth, kTop + 2 * kHalf + kAxis + 30, fmt::format("Losses of {}", model_title(model)));
  svg.text(0, 12,
           fmt::format("{}: AUC {:.3f}", model_title(model),
                       client.at("models").at(model).at("membership").at("auc").get<double>()),
           "strong");
  const double legend = kWidth - 150;
  svg.rect(legend, 3.5, 9, 9, "members");
  svg.text(legend + 13, 12, "trained on", "small");
  svg.rect(legend + 78, 3.5, 9, 9, "others");
  svg.text(legend + 91, 12, "never seen", "small");
  const double above = kTop + kHalf, below = above + kAxis;
  for (const bool members : {true, false}) {
    const auto shares = losses.at(model).at(members ? "members" : "others").get<std::vector<double>>();
    for (size_t k = 0; k < shares.size(); ++k) {
      const double height = kHalf * shares[k] / tallest;
      if (height <= 0) continue;
      svg.rect(kLeft + step * static_cast<double>(k), members ? above - height : below, step - 1, height,
               members ? "members" : "others");
    }
    const double end = members ? kTop : below + kHalf;
    svg.text(kLeft - 5, end + (members ? 8 : 0), fmt::format("{:.0f} %", 100 * tallest), "small", Anchor::kEnd);
    svg.line(kLeft, members ? above : below, kWidth - 6, members ? above : below, "axis");
    svg.line(kLeft, members ? kTop : below, kLeft, members ? above : below + kHalf, "axis");
  }
  const double tick = top > 12 ? 4 : top > 6 ? 2 : top > 2 ? 1 : 0.25;
  for (double at = 0; at <= top + 1e-9; at += tick) {
    svg.text(kLeft + (kWidth - 6 - kLeft) * at / top, above + 14, fmt::format("{:g}", at), "small", Anchor::kMiddle);
  }
  svg.text(kLeft, below + kHalf + 20, fmt::format("loss of an image (nats), the last bar: {:g} and more", top),
           "small");
  return svg.finish();
}

std::string layer_bars(const ordered_json& client) {
  constexpr double kLeft = 78, kRight = 44, kBar = 11, kStep = 31, kTop = 30;
  const ordered_json& layers = client.at("layers");
  double longest = 1e-12;
  for (const ordered_json& layer : layers) {
    longest = std::max({longest, layer.at("removed_norm").get<double>(), layer.at("moved_norm").get<double>()});
  }
  const double scale = (kWidth - kLeft - kRight) / longest;
  Svg svg(kWidth, kTop + kStep * static_cast<double>(layers.size()) + 6, "What was removed and moved in each layer");
  svg.rect(0, 4, 10, 10, "mask_only", 2);
  svg.text(15, 13, "removed by the mask", "small");
  svg.rect(148, 4, 10, 10, "ours", 2);
  svg.text(163, 13, "moved by compensation (norms)", "small");
  double y = kTop;
  for (const ordered_json& layer : layers) {
    svg.text(kLeft - 8, y + 15, layer.at("name").get<std::string>(), "", Anchor::kEnd);
    double at = y;
    for (const auto& [key, style] : {std::pair("removed_norm", "mask_only"), {"moved_norm", "ours"}}) {
      const double value = layer.at(key).get<double>();
      svg.rect(kLeft, at, std::max(1.0, value * scale), kBar, style, 2);
      svg.text(kLeft + value * scale + 5, at + kBar - 1.5, fmt::format("{:.2f}", value), "small");
      at += kBar + 1;
    }
    y += kStep;
  }
  return svg.finish();
}

std::string layer_errors(const ordered_json& client, double certified) {
  constexpr double kLeft = 78, kRight = 14, kStep = 20, kTop = 36;
  const ordered_json& layers = client.at("layers");
  const int last = static_cast<int>(std::ceil(std::log10(certified) + 0.2));
  int first = last - 3;
  for (const ordered_json& layer : layers) {
    const double error = layer.at("error").get<double>();
    if (error > 0) first = std::min(first, static_cast<int>(std::floor(std::log10(error))));
  }
  const double bottom = kTop + kStep * static_cast<double>(layers.size());
  const auto place = [&](double value) {
    const double from = first, to = last;
    return kLeft + (kWidth - kLeft - kRight) * (std::log10(value) - from) / (to - from);
  };
  Svg svg(kWidth, bottom + 36, "Distance from the exact operator in each layer");
  svg.line(place(certified), kTop - 14, place(certified), bottom, "limit");
  svg.text(place(certified), kTop - 20, fmt::format("certified: {:.0e}", certified), "small", Anchor::kMiddle);
  double y = kTop;
  for (const ordered_json& layer : layers) {
    const double error = layer.at("error").get<double>();
    svg.text(kLeft - 8, y + 9, layer.at("name").get<std::string>(), "", Anchor::kEnd);
    svg.line(kLeft, y + 5, kWidth - kRight, y + 5, "grid");
    if (error > 0) {
      svg.circle(place(error), y + 5, 4.5, "ours");
      svg.text(place(error) + 8, y + 9, fmt::format("{:.1e}", error), "small halo");
    } else {
      svg.text(kLeft + 4, y + 9, "nothing masked", "small");
    }
    y += kStep;
  }
  svg.line(kLeft, bottom, kWidth - kRight, bottom, "axis");
  for (int power = first; power <= last; ++power) {
    const double x = place(std::pow(10.0, power));
    svg.line(x, bottom, x, bottom + 4, "axis");
    svg.text(x, bottom + 16, fmt::format("1e{}", power), "small", Anchor::kMiddle);
  }
  svg.text(kWidth - kRight, bottom + 31, "the worst block’s distance from the operator, at most", "small",
           Anchor::kEnd);
  return svg.finish();
}

}  // namespace zkapex::demo
