#include "tables/cells.h"

#include <algorithm>

#include "base/hash.h"
#include "data/documents.h"

namespace zkapex {

using nlohmann::ordered_json;

namespace {

constexpr const char* kFormat = "zkapex-cell";

Result<ordered_json> parse_cell(const std::string& text, const CellKey& key) {
  ordered_json cell = ordered_json::parse(text, nullptr, /*allow_exceptions=*/false);
  const auto has = [&](const char* name, const ordered_json& value) {
    return cell.contains(name) && cell[name] == value;
  };
  if (!cell.is_object() || !has("format", kFormat) || !has("version", 1) || !cell.contains("figures") ||
      !cell["figures"].is_object())
    return error("is not a cell of an experiment; remove it to have it computed again");
  if (!has("experiment", key.experiment) || !has("variant", key.variant) || !has("seed", key.seed))
    return error("is another cell than its name says; remove it to have it computed again");
  if (!has("configuration", key.configuration))
    return error("was computed with other settings; choose another folder with -o, or --force to compute it again");
  return cell;
}

}  // namespace

std::string configuration_digest(const nlohmann::json& settings, const std::string& measured_on) {
  // nlohmann::json orders members by name: one text for one configuration.
  const std::string text = nlohmann::json{{"settings", settings}, {"measured_on", measured_on}}.dump();
  return to_hex(sha256(view(text)));
}

bool is_variant_name(const std::string& name) {
  return !name.empty() && name.front() != '.' && std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view(".-+=_").find(c) != std::string_view::npos;
  });
}

Path CellStore::file(const CellKey& key) const {
  return out_ / "cells" / key.experiment / fmt::format("{}-seed{}.json", key.variant, key.seed);
}

Result<std::optional<ordered_json>> CellStore::load(const CellKey& key) const {
  const Path path = file(key);
  std::error_code ignored;
  if (!std::filesystem::exists(path, ignored)) return std::optional<ordered_json>();
  ZKAPEX_TRY(const std::string text, read_text(path));
  Result<ordered_json> cell = parse_cell(text, key);
  if (!cell.ok()) return error("{} {}", path.string(), cell.error().message);
  return std::optional(*std::move(cell));
}

Status CellStore::save(const CellKey& key, const ordered_json& record) const {
  ordered_json cell{{"format", kFormat},      {"version", 1},     {"experiment", key.experiment},
                    {"variant", key.variant}, {"seed", key.seed}, {"configuration", key.configuration}};
  cell.update(record);
  const Path path = file(key);
  std::error_code failed;
  std::filesystem::create_directories(path.parent_path(), failed);
  if (failed) return error("cannot make the folder {}: {}", path.parent_path().string(), failed.message());
  return write_text(path, cell.dump(2) + "\n");
}

}  // namespace zkapex
