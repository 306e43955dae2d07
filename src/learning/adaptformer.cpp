#include "learning/adaptformer.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>

#include "data/documents.h"
#include "learning/tensor_files.h"
#include "learning/torch.h"

namespace zkapex {

namespace {
constexpr const char* kDescription = "adaptformer.json";
}  // namespace

Status add_adaptformer(Model& model, const AdaptFormerOptions& options) {
  if (options.bottleneck <= 0 || options.bottleneck > (1 << 20)) {
    return error("a bottleneck of {} is not a size", options.bottleneck);
  }
  const at::NoGradGuard no_grad;
  at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(options.seed);
  const int64_t width = model.config().hidden, narrow = options.bottleneck;
  const at::TensorOptions placed = model.placement().options();
  // Kaiming uniform with a = √5, as the method's authors do: both limits are 1 / √fan_in.
  const double limit = 1.0 / std::sqrt(static_cast<double>(width));
  model.adapters().clear();
  for (int64_t i = 0; i < model.config().layers; ++i) {
    const auto uniform = [&](at::IntArrayRef shape) {
      return at::zeros(shape, at::kDouble).uniform_(-limit, limit, generator).to(placed);
    };
    AdapterBranch branch;
    branch.down = {fmt::format("adaptformer.{}.down", i), uniform({narrow, width}), at::zeros({narrow}, placed), {}};
    branch.up = {
        fmt::format("adaptformer.{}.up", i), at::zeros({width, narrow}, placed), at::zeros({width}, placed), {}};
    branch.scale = options.scale;
    model.adapters().push_back(std::move(branch));
  }
  return Done{};
}

bool is_of_branch(std::string_view name) { return name.starts_with("adaptformer."); }

std::vector<Parameter> adaptformer_parameters(const Model& model) {
  std::vector<Parameter> out;
  for (const AdapterBranch& branch : model.adapters()) {
    for (const Linear* layer : {&branch.down, &branch.up}) {
      out.push_back({layer->name + ".weight", layer->weight});
      out.push_back({layer->name + ".bias", layer->bias});
    }
  }
  return out;
}

Status save_adaptformer(const Model& model, const std::filesystem::path& directory) {
  if (model.adapters().empty()) return Done{};
  const AdapterBranch& first = model.adapters().front();
  const nlohmann::json description = {{"bottleneck", first.down.weight.size(0)}, {"scale", first.scale}};
  ZKAPEX_CHECK(write_json(directory / kDescription, description));
  return write_tensors(directory / kBranchesFile, adaptformer_parameters(model));
}

Status load_adaptformer(Model& model, const std::filesystem::path& directory, const Checkpoint& weights) {
  if (!std::filesystem::exists(directory / kDescription)) return Done{};
  ZKAPEX_TRY(const nlohmann::json description, read_json(directory / kDescription));
  AdaptFormerOptions options;
  ZKAPEX_TRY(options.bottleneck, json_value<int64_t>(description, "bottleneck"));
  ZKAPEX_TRY(options.scale, json_value<double>(description, "scale"));
  const Status added = add_adaptformer(model, options);
  if (!added.ok()) return added.error().within(kDescription);
  std::optional<Checkpoint> own;
  if (!weights.find(model.adapters().front().down.name + ".weight")) {
    ZKAPEX_TRY(own, Checkpoint::open(directory / kBranchesFile));
  }
  const at::NoGradGuard no_grad;
  for (const Parameter& p : adaptformer_parameters(model)) {
    ZKAPEX_TRY(const TensorView view, (own ? *own : weights).get(p.name));
    ZKAPEX_TRY(const Tensor value, read_tensor(view));
    if (value.sizes() != p.value.sizes()) return error("tensor '{}' does not fit {}", p.name, kDescription);
    p.value.copy_(value);
  }
  return Done{};
}

}  // namespace zkapex
