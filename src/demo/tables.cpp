#include <fmt/format.h>

#include "demo/charts.h"
#include "demo/report.h"

namespace zkapex::demo {

using nlohmann::ordered_json;

std::string figure_text(const ordered_json& value, FigureStyle style) {
  if (value.is_null()) return "–";
  switch (style) {
    case FigureStyle::kPercent:
      return fmt::format("{:.1f} %", 100 * value.get<double>());
    case FigureStyle::kSeconds:
      return fmt::format("{:.2f} s", value.get<double>());
    case FigureStyle::kKilobytes:
      return fmt::format("{:.1f} kB", value.get<double>() / 1e3);
    case FigureStyle::kMegabytes:
      return fmt::format("{:.1f} MB", value.get<double>() / 1e6);
    case FigureStyle::kAuc:
      return fmt::format("{:.3f}", value.get<double>());
    case FigureStyle::kError:
      return fmt::format("{:.1e}", value.get<double>());
    case FigureStyle::kPlain:
      return value.is_string() ? value.get<std::string>() : value.dump();
  }
  return value.dump();
}

std::string demo_tables(const ordered_json& report) {
  std::string out =
      fmt::format("{:<9} {:<18} {:>14} {:>14} {:>22}\n", "", "", "forgotten", "own drawings", "membership AUC (95 %)");
  for (const ordered_json& client : report.at("clients")) {
    bool first = true;
    for (const auto& [key, model] : client.at("models").items()) {
      const ordered_json& m = model.at("membership");
      out += fmt::format("{:<9} {:<18} {:>14} {:>14} {:>22}\n", first ? client.at("name").get<std::string>() : "",
                         model_title(key), figure_text(model.at("forget_accuracy"), FigureStyle::kPercent),
                         figure_text(model.at("personal_accuracy"), FigureStyle::kPercent),
                         fmt::format("{} ({}–{})", figure_text(m.at("auc"), FigureStyle::kAuc),
                                     figure_text(m.at("auc_low"), FigureStyle::kAuc),
                                     figure_text(m.at("auc_high"), FigureStyle::kAuc)));
      first = false;
    }
  }
  out += fmt::format("\n{:<9} {:>10} {:>12} {:>10} {:>10} {:>11} {:>12} {:>10}\n", "", "recovered", "registration",
                     "register", "proof", "prove", "certified", "measured");
  for (const ordered_json& client : report.at("clients")) {
    out += fmt::format("{:<9} {:>10} {:>12} {:>10} {:>10} {:>11} {:>12} {:>10}\n", client.at("name").get<std::string>(),
                       figure_text(client.at("recovery"), FigureStyle::kPercent),
                       figure_text(client.at("registration_bytes"), FigureStyle::kKilobytes),
                       figure_text(client.at("seconds").at("register"), FigureStyle::kSeconds),
                       figure_text(client.at("proof_bytes"), FigureStyle::kKilobytes),
                       figure_text(client.at("seconds").at("prove"), FigureStyle::kSeconds),
                       report.at("deployment").at("certified_error").get<std::string>(),
                       figure_text(client.at("measured_error"), FigureStyle::kError));
  }
  const ordered_json& verification = report.at("verification");
  out += fmt::format(
      "\nVerified {} clients' registrations in {}, their windows in {}; {} cheats rejected.\n",
      verification.at("clients").dump(), figure_text(verification.at("registrations_seconds"), FigureStyle::kSeconds),
      figure_text(verification.at("windows_seconds"), FigureStyle::kSeconds), report.at("cheats").size());
  for (const ordered_json& target : report.at("targets")) {
    out += fmt::format("{}: {}\n", target.at("what").get<std::string>(), target.at("met") ? "met" : "MISSED");
  }
  return out;
}

}  // namespace zkapex::demo
