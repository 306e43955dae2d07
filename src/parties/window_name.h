// A window's name as the name of a folder.
#pragma once

#include "base/hash.h"

#include <string>
#include <string_view>

namespace zkapex {

// Letters, digits, '-' and '_' as they are, other bytes as %XX. Where that is too long for a
// file system, the digest of the window's mask in hex stands for it.
[[nodiscard]] std::string window_folder_name(std::string_view window, const Sha256::Digest& mask);

}  // namespace zkapex
