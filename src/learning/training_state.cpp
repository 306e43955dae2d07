#include "learning/training_state.h"

#include <charconv>

#include "data/shuffle.h"
#include "learning/tensor_files.h"
#include "learning/torch.h"

namespace zkapex {

TrainingState::TrainingState(const Optimizer& optimizer, std::string run) : run_(std::move(run)) {
  for (const Trainable& p : optimizer.parameters()) tensors_.push_back({"parameter." + p.name, p.value});
  for (Parameter& p : optimizer.state()) tensors_.push_back(std::move(p));
}

Status TrainingState::save(const std::filesystem::path& path, int64_t step) const {
  return write_tensors(path, tensors_, {{"step", std::to_string(step)}, {"run", run_}});
}

Result<int64_t> TrainingState::load(const std::filesystem::path& path) const {
  if (!std::filesystem::exists(path)) return int64_t{0};
  auto step = read(path);
  if (!step.ok()) return step.error().within(path.string());
  return step;
}

Result<int64_t> TrainingState::read(const std::filesystem::path& path) const {
  ZKAPEX_TRY(const Checkpoint file, Checkpoint::open(path));
  const auto run = file.metadata().find("run"), step = file.metadata().find("step");
  if (run == file.metadata().end() || step == file.metadata().end()) return error("not a training checkpoint");
  if (run->second != run_) return error("it is of another run ({}); this one is {}", run->second, run_);
  int64_t number = -1;
  const std::string& digits = step->second;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (code != std::errc() || end != digits.data() + digits.size() || number < 0) return error("it has no step");
  const at::NoGradGuard no_grad;
  for (const Parameter& p : tensors_) {
    ZKAPEX_TRY(const TensorView view, file.get(p.name));
    ZKAPEX_TRY(const Tensor value, read_tensor(view));
    if (value.sizes() != p.value.sizes()) return error("tensor '{}' does not fit", p.name);
    p.value.copy_(value);
  }
  return number;
}

uint64_t step_seed(uint64_t seed, int64_t step) {
  return derived_seed(seed, (uint64_t{1} << 40) + static_cast<uint64_t>(step));
}

}  // namespace zkapex
