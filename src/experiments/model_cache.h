// Trained models that cells and experiments share: each is made once, by one process, and found by all.
#pragma once

#include <functional>

#include "base/files.h"
#include "base/json.h"
#include "learning/model.h"

namespace zkapex {

class ModelCache {
 public:
  explicit ModelCache(Path folder) : folder_(std::move(folder)) {}

  // The directory of the model that `recipe` describes: all that decides its weights. Where it is not there yet `make`
  // makes it, while other processes that want it wait. A directory is complete or not there.
  [[nodiscard]] Result<Path> get(const nlohmann::json& recipe,
                                 const std::function<Result<std::unique_ptr<Model>>()>& make) const;
  // The same for a folder of anything, which `make` fills.
  [[nodiscard]] Result<Path> get_folder(const nlohmann::json& recipe,
                                        const std::function<Status(const Path&)>& make) const;

 private:
  Path folder_;
};

}  // namespace zkapex
