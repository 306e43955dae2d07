#include "data/model_config.h"

#include "data/documents.h"

namespace zkapex {

namespace {

using nlohmann::json;

Result<Activation> activation_named(const std::string& name) {
  if (name == "gelu") return Activation::kGelu;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh") return Activation::kGeluTanh;
  if (name == "relu") return Activation::kRelu;
  return error("the activation '{}' is not supported (gelu, gelu_new, gelu_pytorch_tanh, relu)", name);
}

Result<int64_t> size_of(const json& document, std::string_view key, int64_t fallback) {
  constexpr int64_t kLargest = 1 << 24;
  ZKAPEX_TRY(const int64_t size, json_value_or<int64_t>(document, key, fallback));
  if (size <= 0 || size > kLargest) return error("'{}' is {}, not a size", key, size);
  return size;
}

Result<int64_t> class_count(const json& document) {
  if (document.contains("num_labels")) return size_of(document, "num_labels", 2);
  if (document.contains("id2label") && document["id2label"].is_object() && !document["id2label"].empty()) {
    return static_cast<int64_t>(document["id2label"].size());
  }
  return int64_t{2};  // the default of Hugging Face's configurations
}

Status parse_vit(const json& document, ModelConfig& out) {
  VitConfig vit;
  ZKAPEX_TRY(vit.image_size, size_of(document, "image_size", 224));
  ZKAPEX_TRY(vit.patch_size, size_of(document, "patch_size", 16));
  ZKAPEX_TRY(vit.channels, size_of(document, "num_channels", 3));
  ZKAPEX_TRY(vit.classes, class_count(document));
  ZKAPEX_TRY(vit.qkv_bias, json_value_or<bool>(document, "qkv_bias", true));
  ZKAPEX_TRY(out.intermediate, size_of(document, "intermediate_size", 3072));
  ZKAPEX_TRY(const auto activation, json_value_or<std::string>(document, "hidden_act", "gelu"));
  ZKAPEX_TRY(out.activation, activation_named(activation));
  ZKAPEX_TRY(out.layer_norm_eps, json_value_or<double>(document, "layer_norm_eps", 1e-12));
  ZKAPEX_TRY(out.hidden_dropout, json_value_or<double>(document, "hidden_dropout_prob", 0.0));
  ZKAPEX_TRY(out.attention_dropout, json_value_or<double>(document, "attention_probs_dropout_prob", 0.0));
  ZKAPEX_TRY(out.initializer_range, json_value_or<double>(document, "initializer_range", 0.02));
  if (vit.image_size % vit.patch_size != 0) {
    return error("patches of {} do not divide an image of {}", vit.patch_size, vit.image_size);
  }
  out.kind = vit;
  return Done{};
}

Status parse_opt(const json& document, ModelConfig& out) {
  OptConfig opt;
  ZKAPEX_TRY(opt.vocabulary, size_of(document, "vocab_size", 50272));
  ZKAPEX_TRY(opt.positions, size_of(document, "max_position_embeddings", 2048));
  ZKAPEX_TRY(opt.embedding, size_of(document, "word_embed_proj_dim", out.hidden));
  ZKAPEX_TRY(opt.norm_before, json_value_or<bool>(document, "do_layer_norm_before", true));
  ZKAPEX_TRY(const bool remove_norm, json_value_or<bool>(document, "_remove_final_layer_norm", false));
  ZKAPEX_TRY(opt.tied, json_value_or<bool>(document, "tie_word_embeddings", true));
  opt.final_norm = opt.norm_before && !remove_norm;
  ZKAPEX_TRY(out.intermediate, size_of(document, "ffn_dim", 3072));
  ZKAPEX_TRY(const auto activation, json_value_or<std::string>(document, "activation_function", "relu"));
  ZKAPEX_TRY(out.activation, activation_named(activation));
  ZKAPEX_TRY(out.hidden_dropout, json_value_or<double>(document, "dropout", 0.1));
  ZKAPEX_TRY(out.attention_dropout, json_value_or<double>(document, "attention_dropout", 0.0));
  ZKAPEX_TRY(out.initializer_range, json_value_or<double>(document, "init_std", 0.02));
  out.layer_norm_eps = 1e-5;  // torch's default, which OPT uses
  ZKAPEX_TRY(const bool bias, json_value_or<bool>(document, "enable_bias", true));
  ZKAPEX_TRY(const bool affine, json_value_or<bool>(document, "layer_norm_elementwise_affine", true));
  if (!bias || !affine) return error("OPT without biases or without affine layer norms (Galactica) is not supported");
  out.kind = opt;
  return Done{};
}

Status parse(const json& document, ModelConfig& out) {
  if (!document.is_object()) return error("the configuration is not a JSON object");
  ZKAPEX_TRY(const auto type, json_value<std::string>(document, "model_type"));
  ZKAPEX_TRY(out.hidden, size_of(document, "hidden_size", 768));
  ZKAPEX_TRY(out.layers, size_of(document, "num_hidden_layers", 12));
  ZKAPEX_TRY(out.heads, size_of(document, "num_attention_heads", 12));
  if (out.hidden % out.heads != 0) return error("{} heads do not divide a width of {}", out.heads, out.hidden);
  out.document = std::make_shared<const json>(document);
  if (type == "vit") return parse_vit(document, out);
  if (type == "opt") return parse_opt(document, out);
  return error("the model type '{}' is not supported (vit, opt)", type);
}

}  // namespace

Result<ModelConfig> parse_model_config(const json& document) {
  ModelConfig out;
  ZKAPEX_CHECK(parse(document, out));
  return out;
}

Result<ModelConfig> load_model_config(const std::filesystem::path& directory) {
  ZKAPEX_TRY(const json document, read_json(directory / "config.json"));
  auto config = parse_model_config(document);
  if (!config.ok()) return config.error().within((directory / "config.json").string());
  return config;
}

Result<ModelConfig> with_classes(const ModelConfig& config, int64_t classes) {
  if (!config.vit()) return error("only an image classifier has classes");
  json document = *config.document;
  json id2label = json::object(), label2id = json::object();
  for (int64_t k = 0; k < classes; ++k) {
    const std::string label = fmt::format("LABEL_{}", k);
    id2label[std::to_string(k)] = label;
    label2id[label] = k;
  }
  document.erase("num_labels");
  document["id2label"] = id2label;
  document["label2id"] = label2id;
  return parse_model_config(document);
}

}  // namespace zkapex
