// The pictures of the demo's page, as SVG. Colours come from the page's style, by class.
#pragma once

#include <string>
#include <string_view>

#include "base/json.h"

namespace zkapex::demo {

// `report` is report.json; `client` one of its clients.
[[nodiscard]] std::string protocol_picture(const nlohmann::ordered_json& report);
[[nodiscard]] std::string accuracy_bars(const nlohmann::ordered_json& client, std::string_view forgotten);
// Losses of one model ("before", "ours", ...): members above the axis, others below it. `tallest` is the share at the
// full height.
[[nodiscard]] std::string loss_histogram(const nlohmann::ordered_json& client, const std::string& model,
                                         double tallest);
[[nodiscard]] double tallest_bin(const nlohmann::ordered_json& client);
[[nodiscard]] std::string layer_bars(const nlohmann::ordered_json& client);
[[nodiscard]] std::string layer_errors(const nlohmann::ordered_json& client, double certified);

// What people call the models.
[[nodiscard]] std::string_view model_title(std::string_view key);

// &, <, > and quotes written for HTML.
[[nodiscard]] std::string escaped(std::string_view text);

}  // namespace zkapex::demo
