// Text files as windows of tokens.
#pragma once

#include "learning/dataset.h"

namespace zkapex {

// All regular files under the directory, by name.
[[nodiscard]] Result<std::vector<std::filesystem::path>> text_files(const std::filesystem::path& directory);

// The text files of the source. Each file's tokens are cut into windows of `format.window` tokens, special
// tokens included; the last window of a file is filled up with tokens that count for nothing, and dropped when it has
// fewer than eight of its own. Samples of one file form a group.
[[nodiscard]] Result<std::unique_ptr<Dataset>> open_text(const DataSource& source, const InputFormat& format);

}  // namespace zkapex
