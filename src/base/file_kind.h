// What a file is, told by its first bytes: for messages, when it is not what was asked for.
#pragma once

#include <string_view>

#include "base/bytes.h"
#include "base/result.h"

namespace zkapex {

// "a deployment", "a checkpoint", "a zip archive"; empty where nothing here knows. Looks at the first 4096 bytes only.
[[nodiscard]] std::string_view kind_of_file(ByteView file);

// "this is a mask, not a deployment", or, of what nobody knows, "this is not a deployment". `expected` has its article.
[[nodiscard]] Error wrong_kind(ByteView file, std::string_view expected);

}  // namespace zkapex
