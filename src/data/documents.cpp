#include "data/documents.h"

#include "base/files.h"

namespace zkapex {

namespace {
constexpr size_t kMaxDocument = size_t{1} << 30;
}

Result<std::string> read_text(const std::filesystem::path& path) {
  ZKAPEX_TRY(const Bytes bytes, read_file(path, kMaxDocument));
  return std::string(bytes.begin(), bytes.end());
}

Status write_text(const std::filesystem::path& path, std::string_view text) {
  return write_file(path, view(text), {.overwrite = true});
}

Result<nlohmann::json> parse_json(std::string_view text) {
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    return error("not JSON: {}", e.what());
  }
}

Result<nlohmann::json> read_json(const std::filesystem::path& path) {
  ZKAPEX_TRY(const std::string text, read_text(path));
  auto document = parse_json(text);
  if (!document.ok()) return document.error().within(path.string());
  return document;
}

Status write_json(const std::filesystem::path& path, const nlohmann::json& document) {
  return write_text(path, document.dump(2) + "\n");
}

}  // namespace zkapex
