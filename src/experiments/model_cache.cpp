#include "experiments/model_cache.h"

#include "base/hash.h"
#include "data/documents.h"
#include "learning/model_files.h"
#include "tables/folders.h"

namespace zkapex {

Result<Path> ModelCache::get(const nlohmann::json& recipe,
                             const std::function<Result<std::unique_ptr<Model>>()>& make) const {
  return get_folder(recipe, [&](const Path& folder) -> Status {
    ZKAPEX_TRY(const std::unique_ptr<Model> model, make());
    return save_model(*model, folder);
  });
}

Result<Path> ModelCache::get_folder(const nlohmann::json& recipe,
                                    const std::function<Status(const Path&)>& make) const {
  const std::string text = recipe.dump();
  const Path entry = folder_ / to_hex(sha256(view(text))).substr(0, 32);
  const Path finished = entry / "model";
  std::error_code ignored;
  if (std::filesystem::exists(finished, ignored)) return finished;
  ZKAPEX_CHECK(make_folder(entry));
  ZKAPEX_TRY(const FolderLock lock, wait_for_lock(entry));
  if (std::filesystem::exists(finished, ignored)) return finished;  // made while this process waited
  const Path unfinished = entry / "unfinished";
  ZKAPEX_CHECK(remove_tree(unfinished));
  ZKAPEX_CHECK(make_folder(unfinished));
  ZKAPEX_CHECK(make(unfinished));
  ZKAPEX_CHECK(write_text(unfinished / "recipe.json", text + "\n"));
  std::error_code failed;
  std::filesystem::rename(unfinished, finished, failed);
  if (failed) return error("cannot rename {}: {}", unfinished.string(), failed.message());
  return finished;
}

}  // namespace zkapex
