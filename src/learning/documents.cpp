#include "learning/documents.h"

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

Result<nlohmann::json> read_json(const std::filesystem::path& path) {
  ZKAPEX_TRY(const std::string text, read_text(path));
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& e) {
    return error("{} is not JSON: {}", path.string(), e.what());
  }
}

Status write_json(const std::filesystem::path& path, const nlohmann::json& document) {
  return write_text(path, document.dump(2) + "\n");
}

}  // namespace zkapex
