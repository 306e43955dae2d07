// Files of a folder, for anybody to read.
#pragma once

#include "service/http_router.h"

namespace zkapex {

// Letters, digits, '-', '_' and '.', the last not at the beginning, between single slashes: such a path stays below
// the folder that it is joined to, and names nothing that is hidden.
[[nodiscard]] bool is_plain_path(std::string_view path);

// FOLDER/PATH as an answer, or 404. No link is followed, and only regular files are read.
[[nodiscard]] HttpResponse serve_file(const Path& folder, std::string_view path, const std::string& type,
                                      std::string_view cache_control);

}  // namespace zkapex
