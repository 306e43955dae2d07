// What the demo leaves for people: tables on the terminal, and one page that needs nothing else. Both are made from
// report.json alone, so no figure is in them that is not in it.
#pragma once

#include <string>

#include "base/json.h"

namespace zkapex::demo {

[[nodiscard]] std::string demo_page(const nlohmann::ordered_json& report);
[[nodiscard]] std::string demo_tables(const nlohmann::ordered_json& report);

// How figures are written, everywhere the same.
enum class FigureStyle { kPercent, kSeconds, kKilobytes, kMegabytes, kAuc, kError, kPlain };
[[nodiscard]] std::string figure_text(const nlohmann::ordered_json& value, FigureStyle style);

}  // namespace zkapex::demo
