#include "experiments/vision_settings.h"

#include <algorithm>

#include "base/decimal.h"
#include "experiments/cells.h"

namespace zkapex {

using nlohmann::json;

namespace {

Status parse_images(const json& from, const std::string& where, VisionSettings& out) {
  ImageDeal& i = out.images;
  ConfigReader reader(from, where);
  reader.read("train", i.train).read("validation", i.validation).read("test", i.test);
  reader.read("personal", i.personal).read("personal_validation", i.personal_validation);
  reader.read("personal_test", i.personal_test).read("spare_percent", i.spare_percent);
  reader.read("members", out.members);
  for (const auto& [key, count] : {std::pair("train", i.train),
                                   {"validation", i.validation},
                                   {"test", i.test},
                                   {"personal", i.personal},
                                   {"personal_validation", i.personal_validation},
                                   {"personal_test", i.personal_test}}) {
    reader.require(count > 0 && count <= 1'000'000, key, "must be between 1 and 1000000");
  }
  reader.require(i.spare_percent >= 0 && i.spare_percent <= 1000, "spare_percent", "must be between 0 and 1000");
  reader.require(out.members >= 0, "members", "cannot be negative");
  return reader.finish();
}

Status parse_model(const json& from, const std::string& where, VitShape& out) {
  ConfigReader reader(from, where);
  reader.read("hidden", out.hidden).read("layers", out.layers).read("heads", out.heads);
  reader.read("intermediate", out.intermediate).read("patch", out.patch);
  ZKAPEX_CHECK(reader.finish());
  const auto model = parse_model_config(vit_config(out));
  if (!model.ok()) return model.error().within(where);
  return Done{};
}

void read_training(ConfigReader& reader, TrainingOptions& out) {
  reader.read("epochs", out.epochs).read("batch", out.batch).read("rate", out.rate);
  reader.read_if_there("warmup", out.warmup).read_if_there("layer_decay", out.layer_decay);
  reader.read_if_there("weight_decay", out.adamw.weight_decay);
  const Status good = out.check();
  reader.require(good.ok(), "rate", good.ok() ? "" : good.error().message);
}

Status parse_training(const json& from, const std::string& where, TrainingOptions& out) {
  ConfigReader reader(from, where);
  read_training(reader, out);
  return reader.finish();
}

Status parse_personalization(const json& from, const std::string& where, PersonalizationSettings& out) {
  std::string method;
  ConfigReader reader(from, where);
  reader.read("method", method);
  read_training(reader, out.training);
  reader.read_if_there("bottleneck", out.adaptformer.bottleneck).read_if_there("scale", out.adaptformer.scale);
  reader.read_if_there("rank", out.lora.rank).read_if_there("alpha", out.lora.alpha);
  reader.read_if_there("dropout", out.lora.dropout);
  ZKAPEX_CHECK(reader.finish());
  const auto named = method_named(method);
  if (!named.ok()) return named.error().within(where);
  out.method = *named;
  return Done{};
}

Status parse_unlearning(const json& from, const std::string& where, OperatorSettings& out) {
  ConfigReader reader(from, where);
  reader.read("ratio", out.ratio).read("error", out.error).read("block", out.block).read("floor", out.floor);
  reader.read("curvature_bits", out.curvature_bits).read("cap", out.cap).read("damping", out.damping.value);
  reader.read("saliency_samples", out.saliency_samples).read("fisher_samples", out.fisher_samples);
  for (const auto& [key, count] :
       {std::pair("saliency_samples", out.saliency_samples), {"fisher_samples", out.fisher_samples}})
    reader.require(count > 0, key, "must be positive");
  reader.require(Decimal::parse(out.ratio).ok(), "ratio", "must be a decimal number in quotes");
  reader.require(Decimal::parse(out.error).ok(), "error", "must be a decimal number in quotes");
  const Status damping = out.damping.check();
  reader.require(damping.ok(), "damping", damping.ok() ? "" : damping.error().message);
  return reader.finish();
}

void read_baseline(ConfigReader& reader, BaselineOptions& out) {
  reader.read("epochs", out.epochs).read("rate", out.rate).read("forget_batch", out.forget_batch);
  reader.read_if_there("retain_batch", out.retain_batch);
  const Status good = out.check();
  reader.require(good.ok(), "rate", good.ok() ? "" : good.error().message);
}

Status parse_baselines(const json& from, const std::string& where, BaselineSettings& out) {
  ConfigReader reader(from, where);
  reader.read("retained_data", out.retained_data);
  reader.require(out.retained_data == "personal" || out.retained_data == "retain", "retained_data",
                 "is personal or retain");
  reader.part("ga", [&](const json& part, const std::string& at) -> Status {
    ConfigReader inner(part, at);
    read_baseline(inner, out.ga);
    return inner.finish();
  });
  reader.part("neggrad+", [&](const json& part, const std::string& at) -> Status {
    ConfigReader inner(part, at);
    read_baseline(inner, out.neggrad);
    inner.read("alpha", out.neggrad_alpha);
    return inner.finish();
  });
  reader.part("scrub", [&](const json& part, const std::string& at) -> Status {
    ConfigReader inner(part, at);
    read_baseline(inner, out.scrub.base);
    inner.read("gamma", out.scrub.gamma).read("alpha", out.scrub.alpha).read("temperature", out.scrub.temperature);
    inner.read("max_steps", out.scrub.max_steps);
    return inner.finish();
  });
  return reader.finish();
}

std::string_view method_title(Method method) {
  switch (method) {
    case Method::kFull:
      return "full fine-tuning";
    case Method::kLinearProbe:
      return "linear probe";
    case Method::kLora:
      return "LoRA";
    case Method::kAdaptFormer:
      return "AdaptFormer";
  }
  return "";
}

std::string training_text(const TrainingOptions& o) {
  return fmt::format("{} epochs, batch {}, AdamW at {}, linear decay", o.epochs, o.batch, o.rate);
}

}  // namespace

Result<VisionSettings> VisionSettings::parse(const json& settings, const std::string& where) {
  VisionSettings out;
  const auto into = [](const auto& parse, auto& target) {
    return [&parse, &target](const json& part, const std::string& at) { return parse(part, at, target); };
  };
  ConfigReader reader(settings, where);
  reader.part("images", into(parse_images, out)).part("model", into(parse_model, out.model));
  reader.part("training", into(parse_training, out.training));
  reader.part("personalization", into(parse_personalization, out.personalization));
  reader.part("unlearning", into(parse_unlearning, out.unlearning));
  reader.part("baselines", into(parse_baselines, out.baselines));
  ZKAPEX_CHECK(reader.finish());
  return out;
}

nlohmann::ordered_json VisionSettings::describe() const {
  const OperatorSettings& u = unlearning;
  return {{"data", fmt::format("Fashion-MNIST: {} photos to train on (D), {} sketches to personalize on (D_p), {} "
                               "and {} to test on ({} and {} to choose settings on)",
                               images.train, images.personal, images.test, images.personal_test, images.validation,
                               images.personal_validation)},
          {"model", fmt::format("ViT, {} blocks of width {}, MLP {}, {} heads, patches of {} pixels", model.layers,
                                model.hidden, model.intermediate, model.heads, model.patch)},
          {"training", training_text(training)},
          {"personalization",
           fmt::format("{}, {}", method_title(personalization.method), training_text(personalization.training))},
          {"operator", fmt::format("mask {} of the MLP weights, B = {}, damping {} of a block's mean diagonal, {}-bit "
                                   "factors, floor {}, {} samples for the mask and {} for the Fisher blocks, where not "
                                   "said otherwise",
                                   u.ratio, u.block, u.damping.value, u.curvature_bits, u.floor, u.saliency_samples,
                                   u.fisher_samples)}};
}

Result<std::vector<ForgetRequest>> parse_requests(const json& list, const std::string& where) {
  std::vector<ForgetRequest> out;
  if (!list.is_array() || list.empty()) return error("{} must be a list of requests", where);
  for (const json& item : list) {
    ForgetRequest request;
    double damping = 0;
    ConfigReader reader(item, where);
    reader.read("name", request.name).read("title", request.title).read("forget", request.forget);
    reader.read_if_there("damping", damping);
    reader.require(is_variant_name(request.name), "name", "has characters that a file's name cannot have");
    reader.require(damping >= 0, "damping", "cannot be negative");
    ZKAPEX_CHECK(reader.finish());
    if (damping > 0) request.damping = damping;
    if (std::ranges::any_of(out, [&](const ForgetRequest& r) { return r.name == request.name; }))
      return error("{} has two requests with the name '{}'", where, request.name);
    out.push_back(std::move(request));
  }
  return out;
}

}  // namespace zkapex
