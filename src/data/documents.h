// Text and JSON documents on disk, with errors that name the file and the member. Writing replaces what was there.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/json.h"
#include "base/result.h"

namespace zkapex {

[[nodiscard]] Result<std::string> read_text(const std::filesystem::path& path);
[[nodiscard]] Status write_text(const std::filesystem::path& path, std::string_view text);

[[nodiscard]] Result<nlohmann::json> parse_json(std::string_view text);
[[nodiscard]] Result<nlohmann::json> read_json(const std::filesystem::path& path);
[[nodiscard]] Status write_json(const std::filesystem::path& path, const nlohmann::json& document);

// object[key] as a T, or `fallback` when it is absent or null; an error when it is something else.
template <class T>
[[nodiscard]] Result<T> json_value_or(const nlohmann::json& object, std::string_view key, T fallback) {
  const auto found = object.find(key);
  if (found == object.end() || found->is_null()) return fallback;
  try {
    return found->template get<T>();
  } catch (const nlohmann::json::exception&) {
    return error("'{}' has an unexpected type ({})", key, found->type_name());
  }
}

template <class T>
[[nodiscard]] Result<T> json_value(const nlohmann::json& object, std::string_view key) {
  if (!object.is_object() || !object.contains(key)) return error("'{}' is missing", key);
  return json_value_or<T>(object, key, T{});
}

}  // namespace zkapex
