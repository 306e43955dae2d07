// Identifiers that people read: of clients and of windows.
#pragma once

#include <string_view>

#include "base/result.h"

namespace zkapex {

inline constexpr size_t kMaxName = 255;

// 1 to kMaxName bytes of valid UTF-8 without control characters (U+0000 to U+001F, U+007F to U+009F): safe to print on
// a terminal and to put into JSON. `what` is for the message: "a client identifier".
[[nodiscard]] Status check_name(std::string_view name, std::string_view what);

}  // namespace zkapex
