#include "cli/work.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "base/names.h"
#include "base/outputs.h"
#include "parties/secret_file.h"

namespace zkapex::cli {

namespace {

Path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? Path() : Path(value);
}

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

bool is_secret(const Path& path) {
  std::array<uint8_t, ClientSecret::kKind.magic.size()> magic{};
  std::error_code failed;
  if (!std::filesystem::is_regular_file(path, failed)) return false;
  const auto file = FileReader::open(path);
  return file.ok() && file->size() >= magic.size() && file->read_at(0, magic).ok() &&
         std::ranges::equal(magic, view(ClientSecret::kKind.magic));
}

}  // namespace

Path cache_folder() {
  if (Path path = from_environment("ZKAPEX_CACHE"); !path.empty()) return path;
  if (const Path path = from_environment("XDG_CACHE_HOME"); !path.empty()) return path / "zkapex";
  if (const Path path = from_environment("HOME"); !path.empty()) return path / ".cache" / "zkapex";
  return {};
}

Work::Work(const CommonFlags& flags) : pool_(flags.threads) {
  settings_.pool = &pool_;
  settings_.cache = cache_folder();
  if (flags.memory) settings_.memory = flags.memory->bytes();
  settings_.progress = flags.progress_style();
  settings_.force = flags.force;
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

std::vector<std::string> mask_warnings(uint64_t masked, uint64_t covered) {
  if (masked < covered) return {};
  return {fmt::format("the mask removes all of the {} covered weights: nothing is left to compensate with", covered)};
}

nlohmann::ordered_json timings_as_json(const Timings& timings) {
  auto out = nlohmann::ordered_json::object();
  for (const auto& [name, seconds] : timings.parts) out[name] = seconds;
  return out;
}

nlohmann::ordered_json history_as_json(const History& history) {
  auto out = nlohmann::ordered_json::array();
  for (const AppliedWindow& applied : history)
    out.push_back({{"window", applied.window}, {"mask", to_hex(applied.mask)}});
  return out;
}

Status check_output(const Path& path, bool force, const std::vector<Path>& inputs) {
  if (is_secret(path)) return error("{} is a client's secret state; nothing replaces that", path.string());
  ZKAPEX_CHECK(check_no_record(path));
  return check_outputs({path}, inputs, force);
}

}  // namespace zkapex::cli
