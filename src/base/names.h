// Identifiers that people read: of clients and of windows.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace zkapex {

inline constexpr size_t kMaxName = 255;

// 1 to kMaxName bytes of valid UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F): safe to print on
// a terminal and to put into JSON. `what` is for the message: "a client identifier".
[[nodiscard]] Status check_name(std::string_view name, std::string_view what);

[[nodiscard]] bool is_utf8(std::string_view text);

// The name as that of a file: letters, digits, '-', '_' and dots after the first byte as they are, other bytes as %XX;
// of names that are too long for a file system, '=' and the SHA-256. Different names have different files.
[[nodiscard]] std::string file_name_of(std::string_view name);

// In quotes, with escapes for quotes, backslashes and all that is not printable ASCII: what a stranger chose cannot be
// taken for anything around it.
[[nodiscard]] std::string in_quotes(std::string_view text);

}  // namespace zkapex
