#include "service/http_static.h"

#include <filesystem>

namespace zkapex {

namespace {

bool is_plain_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
}

}  // namespace

bool is_plain_path(std::string_view path) {
  char before = '/';
  for (const char c : path) {
    if (before == '/' && (c == '/' || c == '.')) return false;
    if (c != '/' && !is_plain_character(c)) return false;
    before = c;
  }
  return before != '/';
}

HttpResponse serve_file(const Path& folder, std::string_view path, const std::string& type,
                        std::string_view cache_control) {
  const HttpResponse missing = problem(ProblemKind::kNotFound, "there is no such file");
  if (!is_plain_path(path)) return missing;
  Path file = folder;
  for (size_t at = 0; at <= path.size();) {
    const size_t end = std::min(path.find('/', at), path.size());
    file /= path.substr(at, end - at);
    std::error_code failed;
    if (std::filesystem::is_symlink(file, failed)) return missing;
    at = end + 1;
  }
  std::error_code failed;
  if (!std::filesystem::is_regular_file(file, failed)) return missing;
  auto reader = FileReader::open(file);
  if (!reader.ok()) return problem(ProblemKind::kInternal, "the file cannot be read");
  HttpResponse response;
  response.type = type;
  response.headers.emplace_back("Cache-Control", cache_control);
  response.file = std::make_shared<const FileReader>(std::move(*reader));
  return response;
}

}  // namespace zkapex
