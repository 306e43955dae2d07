#include "tables/folders.h"

#include <chrono>
#include <thread>

namespace zkapex {

Status make_folder(const Path& folder) {
  std::error_code failed;
  std::filesystem::create_directories(folder, failed);
  if (failed) return error("cannot make the folder {}: {}", folder.string(), failed.message());
  return Done{};
}

Status remove_tree(const Path& path) {
  std::error_code failed;
  std::filesystem::remove_all(path, failed);
  if (failed) return error("cannot remove {}: {}", path.string(), failed.message());
  return Done{};
}

Status replace_file(const Path& from, const Path& to) {
  ZKAPEX_CHECK(make_folder(to.parent_path()));
  std::error_code failed;
  std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing, failed);
  if (failed) return error("cannot copy {} to {}: {}", from.string(), to.string(), failed.message());
  return Done{};
}

Result<FolderLock> wait_for_lock(const Path& folder) {
  for (;;) {
    ZKAPEX_TRY(std::optional<FolderLock> lock, FolderLock::try_take(folder));
    if (lock) return *std::move(lock);
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

}  // namespace zkapex
