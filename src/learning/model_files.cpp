#include "learning/model_files.h"

#include <set>

#include "data/documents.h"
#include "learning/adaptformer.h"
#include "learning/model_names.h"
#include "learning/tensor_files.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

namespace fs = std::filesystem;

// The tensors of a checkpoint under the names of the Hub.
Result<std::map<std::string, TensorView>> tensors_by_hub_name(const Checkpoint& checkpoint, const ModelConfig& config) {
  std::map<std::string, TensorView> out;
  for (const TensorView& view : checkpoint.tensors()) {
    const std::string name = hub_name(config, view.name());
    if (!out.emplace(name, view).second) return error("tensor '{}' is there under two names", name);
  }
  // A language model saved with nothing but its tied output matrix.
  const std::string tokens = "model.decoder.embed_tokens.weight";
  if (const auto head = out.find("lm_head.weight"); config.opt() && config.opt()->tied && head != out.end()) {
    out.emplace(tokens, head->second);
  }
  return out;
}

Status fill(const Parameter& parameter, const TensorView& view) {
  ZKAPEX_TRY(const Tensor value, read_tensor(view));
  if (value.sizes() != parameter.value.sizes()) {
    return error("tensor '{}' has the shape [{}], but config.json asks for [{}]", view.name(),
                 fmt::join(value.sizes(), ", "), fmt::join(parameter.value.sizes(), ", "));
  }
  if (!value.is_floating_point()) return error("tensor '{}' does not hold floating-point numbers", view.name());
  parameter.value.copy_(value);
  return Done{};
}

Status fill_all(Model& model, const Checkpoint& checkpoint, bool new_classifier) {
  const at::NoGradGuard no_grad;
  const ModelConfig& config = model.config();
  ZKAPEX_TRY(const auto tensors, tensors_by_hub_name(checkpoint, config));
  for (const Parameter& parameter : model.parameters().all()) {
    if (new_classifier && parameter.name.starts_with("classifier.")) continue;
    const auto found = tensors.find(parameter.name);
    if (found == tensors.end()) return error("the checkpoint has no tensor '{}'", parameter.name);
    ZKAPEX_CHECK(fill(parameter, found->second));
  }
  for (const auto& [name, view] : tensors) {
    const bool in_branch = is_of_branch(name) && !model.adapters().empty();
    if (!model.parameters().find(name) && !in_branch && !is_unused(config, name)) {
      return error("tensor '{}' of the checkpoint is not a part of the model that config.json describes", view.name());
    }
  }
  return Done{};
}

// The classifier is new when the checkpoint has none, or one for other classes.
bool needs_new_classifier(const Checkpoint& checkpoint, const LoadOptions& options) {
  if (!options.classes) return false;
  const TensorView* weight = checkpoint.find("classifier.weight");
  return !weight || weight->shape().empty() || weight->shape()[0] != static_cast<uint64_t>(*options.classes);
}

Result<std::unique_ptr<Model>> load(const fs::path& directory, const LoadOptions& options) {
  ZKAPEX_TRY(ModelConfig config, load_model_config(directory));
  if (options.classes) {
    if (!config.vit()) return error("only an image classifier has classes");
    if (config.vit()->classes != *options.classes) {
      ZKAPEX_TRY(config, with_classes(config, *options.classes));
    }
  }
  ZKAPEX_TRY(const Checkpoint checkpoint, Checkpoint::open(options.weights.empty() ? directory : options.weights));
  std::unique_ptr<Model> model = make_model(config, options.placement);
  const bool new_classifier = needs_new_classifier(checkpoint, options);
  if (new_classifier) initialize(*model, options.seed);
  ZKAPEX_CHECK(load_adaptformer(*model, directory, checkpoint));
  ZKAPEX_CHECK(fill_all(*model, checkpoint, new_classifier));
  return model;
}

}  // namespace

Result<std::unique_ptr<Model>> load_model(const fs::path& directory, const LoadOptions& options) {
  if (fs::is_regular_file(directory)) {
    return error("{} is a file; a model is a folder with config.json in it, and --weights takes a checkpoint for it",
                 directory.string());
  }
  auto model = catch_torch([&] { return load(directory, options); });
  if (!model.ok()) return model.error().within((options.weights.empty() ? directory : options.weights).string());
  return model;
}

Status save_model(const Model& model, const fs::path& directory, const fs::path& source) {
  std::error_code code;
  fs::create_directories(directory, code);
  if (code) return error("{} cannot be made: {}", directory.string(), code.message());
  for (const char* name : {"preprocessor_config.json", "tokenizer.json", "vocab.json", "merges.txt",
                           "tokenizer_config.json", "special_tokens_map.json", "generation_config.json"}) {
    if (source.empty() || !fs::exists(source / name)) continue;
    ZKAPEX_TRY(const std::string text, read_text(source / name));
    ZKAPEX_CHECK(write_text(directory / name, text));
  }
  ZKAPEX_CHECK(write_json(directory / "config.json", *model.config().document));
  ZKAPEX_CHECK(write_tensors(directory / "model.safetensors", model.parameters().all()));
  return save_adaptformer(model, directory);
}

}  // namespace zkapex
