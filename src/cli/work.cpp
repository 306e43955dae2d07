#include "cli/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "base/names.h"

namespace zkapex::cli {

namespace {

// Names that clients choose are quoted, and so is whatever a terminal might take for something else.
std::string string_as_text(std::string_view key, const std::string& text) {
  const bool plain = std::ranges::all_of(text, [](char c) { return c >= 0x20 && c < 0x7f; });
  return plain && key != "client" && key != "window" ? text : in_quotes(text);
}

std::string value_as_text(const std::string& key, const nlohmann::ordered_json& value) {
  if (value.is_string()) return string_as_text(key, value.get<std::string>());
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (key.ends_with("_bytes")) return fmt::format("{} ({} bytes)", format_size(value), value.get<uint64_t>());
  if (value.is_number_float()) return fmt::format("{:.4g}", value.get<double>());
  if (value.is_structured()) {
    std::string out;
    for (const auto& [name, item] : value.items()) {
      const std::string text = value_as_text(name, item);
      out += fmt::format("{}{}{}{}", out.empty() ? "" : ", ", value.is_object() ? name : "",
                         value.is_object() ? " " : "", text);
    }
    return out.empty() ? "none" : out;
  }
  return value.dump();
}

// Nothing about work that is over at once.
void announce(const Estimate& estimate) {
  constexpr double kWorthALine = 2;
  if (estimate.seconds < kWorthALine) return;
  std::fputs(fmt::format("about {:.0f} s, at most {} of memory and {} of scratch files, a proof of {}\n",
                         estimate.seconds, format_size(estimate.memory_bytes), format_size(estimate.disk_bytes),
                         format_size(estimate.proof_bytes))
                 .c_str(),
             stderr);
}

}  // namespace

Work::Work(const CommonFlags& flags) : pool_(flags.threads) {
  settings_.pool = &pool_;
  settings_.cache = cache_folder();
  if (flags.memory) settings_.memory = flags.memory->bytes();
  settings_.progress = flags.progress_style();
  settings_.force = flags.force;
  if (settings_.progress != ProgressStyle::kSilent) settings_.announce = announce;
}

Report estimate_report(const Estimate& estimate) {
  Report out{.headline = "an estimate; nothing was done"};
  out.values["seconds"] = estimate.seconds;
  out.values["memory_bytes"] = estimate.memory_bytes;
  out.values["proof_bytes"] = estimate.proof_bytes;
  out.values["scratch_bytes"] = estimate.disk_bytes;
  return out;
}

std::string report_as_text(const Report& report) {
  size_t width = 0;
  for (const auto& [key, value] : report.values.items()) width = std::max(width, key.size());
  std::string out = report.headline + "\n";
  for (const auto& [key, value] : report.values.items()) {
    std::string label = key.ends_with("_bytes") ? key.substr(0, key.size() - 6) + "_size" : key;
    std::replace(label.begin(), label.end(), '_', ' ');
    out += fmt::format("  {:<{}}  {}\n", label, width, value_as_text(key, value));
  }
  return out;
}

void Report::print(bool json) const {
  print_warnings(warnings);
  nlohmann::ordered_json document = values;
  if (!warnings.empty()) document["warnings"] = warnings;
  fmt::print("{}", json ? document.dump(2) + "\n" : report_as_text(*this));
}

void print_warnings(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) std::fputs(fmt::format("zkapex: warning: {}\n", warning).c_str(), stderr);
}

}  // namespace zkapex::cli
