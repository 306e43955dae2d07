#include "learning/lora.h"

#include <ATen/CPUGeneratorImpl.h>

#include <cmath>
#include <map>
#include <regex>
#include <set>

#include "data/documents.h"
#include "learning/model_names.h"
#include "learning/sample_gradients.h"
#include "learning/tensor_files.h"
#include "learning/torch.h"

namespace zkapex {

namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr const char* kConfigFile = "adapter_config.json";
constexpr const char* kTensorFile = "adapter_model.safetensors";
constexpr std::string_view kPrefix = "base_model.model.";

Linear* find_linear(Model& model, std::string_view module) {
  for (Linear* layer : model.linears()) {
    if (layer->name == module) return layer;
  }
  return nullptr;
}

// PEFT's rule for rank_pattern and alpha_pattern: a regular expression for the end of the module's name.
Result<double> pattern_value(const json& patterns, const std::string& module, double fallback) {
  if (!patterns.is_object()) return fallback;
  for (const auto& [pattern, value] : patterns.items()) {
    try {
      if (std::regex_match(module, std::regex("(.*\\.)?(" + pattern + ")"))) return value.get<double>();
    } catch (const std::exception&) {
      return error("'{}' is not a pattern with a number", pattern);
    }
  }
  return fallback;
}

struct PeftConfig {
  double rank = 8, alpha = 8, dropout = 0;
  bool rank_stabilized = false, transposed = false;
  json rank_pattern, alpha_pattern;

  [[nodiscard]] Result<double> scale(const std::string& module, int64_t found_rank) const {
    ZKAPEX_TRY(const double r, pattern_value(rank_pattern, module, rank));
    if (static_cast<double>(found_rank) != r)
      return error("'{}' has rank {}, the configuration says {}", module, found_rank, r);
    if (found_rank == 0) return error("'{}' has rank 0", module);
    ZKAPEX_TRY(const double a, pattern_value(alpha_pattern, module, alpha));
    return a / (rank_stabilized ? std::sqrt(r) : r);
  }
};

Result<PeftConfig> parse_config(const json& document) {
  PeftConfig out;
  ZKAPEX_TRY(const auto type, json_value_or<std::string>(document, "peft_type", "LORA"));
  if (type != "LORA") return error("an adapter of type '{}' is not LoRA", type);
  ZKAPEX_TRY(out.rank, json_value<double>(document, "r"));
  ZKAPEX_TRY(out.alpha, json_value<double>(document, "lora_alpha"));
  ZKAPEX_TRY(out.dropout, json_value_or<double>(document, "lora_dropout", 0.0));
  if (!(out.dropout >= 0 && out.dropout < 1)) return error("'lora_dropout' is {}, not a share", out.dropout);
  ZKAPEX_TRY(out.rank_stabilized, json_value_or<bool>(document, "use_rslora", false));
  ZKAPEX_TRY(out.transposed, json_value_or<bool>(document, "fan_in_fan_out", false));
  ZKAPEX_TRY(const bool dora, json_value_or<bool>(document, "use_dora", false));
  ZKAPEX_TRY(const bool lora_bias, json_value_or<bool>(document, "lora_bias", false));
  if (dora || lora_bias) return error("'use_dora' and 'lora_bias' are not supported");
  out.rank_pattern = document.value("rank_pattern", json());
  out.alpha_pattern = document.value("alpha_pattern", json());
  return out;
}

struct Pair {
  Tensor a, b;
};

// B·A is [out, in], or its transpose where the file says so.
Status attach(Model& model, const std::string& module, const Pair& pair, const PeftConfig& config) {
  Linear* layer = find_linear(model, module);
  if (!layer) return error("the model has no linear map '{}' in its blocks", module);
  if (!pair.a.defined() || !pair.b.defined()) return error("'{}' has only one of lora_A and lora_B", module);
  if (pair.a.dim() != 2 || pair.b.dim() != 2 || pair.a.size(0) != pair.b.size(1))
    return error("the matrices of '{}' do not multiply", module);
  ZKAPEX_TRY(const double scale, config.scale(module, pair.a.size(0)));
  LoraBranch branch{config.transposed ? pair.b.t() : pair.a, config.transposed ? pair.a.t() : pair.b, scale,
                    config.dropout};
  if (branch.a.size(1) != layer->weight.size(1) || branch.b.size(0) != layer->weight.size(0)) {
    return error("the matrices of '{}' do not fit its weight", module);
  }
  branch.a = branch.a.contiguous().to(model.placement().options());
  branch.b = branch.b.contiguous().to(model.placement().options());
  layer->lora = std::move(branch);
  return Done{};
}

Status replace_parameter(Model& model, const std::string& name, const Tensor& value) {
  const Tensor* parameter = model.parameters().find(name);
  if (!parameter) return error("the model has nothing named '{}'", name);
  if (parameter->sizes() != value.sizes()) return error("'{}' does not fit the model", name);
  parameter->copy_(value);
  return Done{};
}

Status load(Model& model, const fs::path& directory) {
  const at::NoGradGuard no_grad;
  ZKAPEX_TRY(const json document, read_json(directory / kConfigFile));
  ZKAPEX_TRY(const PeftConfig config, parse_config(document));
  ZKAPEX_TRY(const Checkpoint file, Checkpoint::open(directory / kTensorFile));
  std::map<std::string, Pair> pairs;
  for (const TensorView& view : file.tensors()) {
    std::string_view key = view.name();
    if (!key.starts_with(kPrefix)) return error("the key '{}' does not start with '{}'", key, kPrefix);
    key.remove_prefix(kPrefix.size());
    ZKAPEX_TRY(const Tensor value, read_tensor(view));
    const size_t a = key.find(".lora_A."), b = key.find(".lora_B.");
    if (a == std::string_view::npos && b == std::string_view::npos) {
      ZKAPEX_CHECK(replace_parameter(model, hub_name(model.config(), key), value));
      continue;
    }
    // Renaming works on whole parameters: ask for the weight's name and drop the ending again.
    std::string module = hub_name(model.config(), std::string(key.substr(0, std::min(a, b))) + ".weight");
    module.resize(module.size() - std::string_view(".weight").size());
    (a != std::string_view::npos ? pairs[module].a : pairs[module].b) = value;
  }
  for (const auto& [module, pair] : pairs) ZKAPEX_CHECK(attach(model, module, pair, config));
  return Done{};
}

}  // namespace

Status add_lora(Model& model, const LoraOptions& options) {
  return catch_torch([&]() -> Status {
    const at::NoGradGuard no_grad;
    if (options.rank <= 0) return error("a rank of {} is not positive", options.rank);
    const std::vector<std::string> all = {"*"};
    ZKAPEX_TRY(const auto names, covered_weights(model, options.targets.empty() ? all : options.targets));
    at::Generator generator = at::make_generator<at::CPUGeneratorImpl>(options.seed);
    const std::set<std::string> chosen(names.begin(), names.end());
    for (Linear* layer : model.linears()) {
      if (!chosen.contains(layer->name + ".weight")) continue;
      const int64_t out = layer->weight.size(0), in = layer->weight.size(1);
      const double limit = 1 / std::sqrt(static_cast<double>(in));  // Kaiming uniform with a = √5, as PEFT does
      const Tensor a = at::zeros({options.rank, in}, at::kDouble).uniform_(-limit, limit, generator);
      layer->lora =
          LoraBranch{a.to(model.placement().options()), at::zeros({out, options.rank}, model.placement().options()),
                     options.alpha / static_cast<double>(options.rank), options.dropout};
    }
    return Done{};
  });
}

std::vector<Parameter> lora_parameters(Model& model) {
  std::vector<Parameter> out;
  for (const Linear* layer : model.linears()) {
    if (!layer->lora) continue;
    out.push_back({layer->name + ".lora_A.weight", layer->lora->a});
    out.push_back({layer->name + ".lora_B.weight", layer->lora->b});
  }
  return out;
}

void merge_lora(Model& model) {
  const at::NoGradGuard no_grad;
  for (Linear* layer : model.linears()) {
    if (!layer->lora) continue;
    layer->weight.add_(at::matmul(layer->lora->b, layer->lora->a), layer->lora->scale);
    layer->lora.reset();
  }
}

Status save_lora(Model& model, const LoraOptions& options, const fs::path& directory, bool with_classifier) {
  std::error_code code;
  fs::create_directories(directory, code);
  if (code) return error("{} cannot be made: {}", directory.string(), code.message());
  std::vector<Parameter> tensors;
  for (const Parameter& p : lora_parameters(model)) tensors.push_back({std::string(kPrefix) + p.name, p.value});
  // Whole names: PEFT also takes endings, but "output.dense" would end "attention.output.dense" too.
  std::vector<std::string> targets;
  for (const Linear* layer : model.linears()) {
    if (layer->lora) targets.push_back(layer->name);
  }
  if (with_classifier) {
    for (const char* name : {"classifier.weight", "classifier.bias"}) {
      if (const Tensor* value = model.parameters().find(name)) tensors.push_back({std::string(kPrefix) + name, *value});
    }
  }
  const json config = {{"peft_type", "LORA"},
                       {"task_type", nullptr},
                       {"base_model_name_or_path", nullptr},
                       {"r", options.rank},
                       {"lora_alpha", options.alpha},
                       {"lora_dropout", options.dropout},
                       {"target_modules", targets},
                       {"modules_to_save", with_classifier ? json({"classifier"}) : json()},
                       {"bias", "none"},
                       {"fan_in_fan_out", false},
                       {"use_rslora", false},
                       {"inference_mode", true}};
  ZKAPEX_CHECK(write_json(directory / kConfigFile, config));
  return write_tensors(directory / kTensorFile, tensors);
}

Status load_lora(Model& model, const fs::path& directory) {
  Status done = catch_torch([&] { return load(model, directory); });
  if (!done.ok()) return done.error().within(directory.string());
  return done;
}

}  // namespace zkapex
