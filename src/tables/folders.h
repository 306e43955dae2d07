// Folders that processes share.
#pragma once

#include "base/files.h"

namespace zkapex {

[[nodiscard]] Status make_folder(const Path& folder);
// A file or a folder with all that is in it; nothing where there is none.
[[nodiscard]] Status remove_tree(const Path& path);
// A copy of `from` under the name `to`, whatever was there.
[[nodiscard]] Status replace_file(const Path& from, const Path& to);

// Looks a few times a second until nobody else has it.
[[nodiscard]] Result<FolderLock> wait_for_lock(const Path& folder);

}  // namespace zkapex
