// A run of an optimizer between two of its steps, in one file, to go on from.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "learning/optimizer.h"

namespace zkapex {

class TrainingState {
 public:
  // `run` tells of all that decides the result: a file of another run is refused.
  TrainingState(const Optimizer& optimizer, std::string run);

  [[nodiscard]] Status save(const std::filesystem::path& path, int64_t step) const;
  // Fills the optimizer's parameters and state; the step to go on with. Where there is no file: 0.
  [[nodiscard]] Result<int64_t> load(const std::filesystem::path& path) const;

 private:
  [[nodiscard]] Result<int64_t> read(const std::filesystem::path& path) const;

  std::string run_;
  std::vector<Parameter> tensors_;
};

// Dropout depends on the step alone, so that a resumed run repeats it.
[[nodiscard]] uint64_t step_seed(uint64_t seed, int64_t step);

}  // namespace zkapex
