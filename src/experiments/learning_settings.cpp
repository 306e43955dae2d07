#include "experiments/learning_settings.h"

#include "base/decimal.h"

namespace zkapex {

using nlohmann::json;

namespace {

void read_training(ConfigReader& reader, TrainingOptions& out) {
  reader.read("epochs", out.epochs).read("batch", out.batch).read("rate", out.rate);
  reader.read_if_there("warmup", out.warmup).read_if_there("layer_decay", out.layer_decay);
  reader.read_if_there("weight_decay", out.adamw.weight_decay);
  const Status good = out.check();
  reader.require(good.ok(), "rate", good.ok() ? "" : good.error().message);
}

void read_baseline(ConfigReader& reader, BaselineOptions& out) {
  reader.read("epochs", out.epochs).read("rate", out.rate).read("forget_batch", out.forget_batch);
  reader.read_if_there("retain_batch", out.retain_batch);
  const Status good = out.check();
  reader.require(good.ok(), "rate", good.ok() ? "" : good.error().message);
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

Status parse_training(const json& from, const std::string& where, TrainingOptions& out) {
  ConfigReader reader(from, where);
  read_training(reader, out);
  return reader.finish();
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

std::string describe(const TrainingOptions& o) {
  return fmt::format("{} epochs, batch {}, AdamW at {}, linear decay", o.epochs, o.batch, o.rate);
}

std::string describe(const OperatorSettings& u) {
  return fmt::format(
      "mask {} % of the MLP weights, B = {}, damping {} of a block's mean diagonal, {}-bit factors, floor {}, {} "
      "samples for "
      "the mask and {} for the Fisher blocks, where not said otherwise",
      100 * std::stod(u.ratio), u.block, u.damping.value, u.curvature_bits, u.floor, u.saliency_samples,
      u.fisher_samples);
}

}  // namespace

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

void LearningSettings::read_from(ConfigReader& reader) {
  const auto into = [](const auto& parse, auto& target) {
    return [&parse, &target](const json& part, const std::string& where) { return parse(part, where, target); };
  };
  reader.part("training", into(parse_training, training));
  reader.part("personalization", into(parse_personalization, personalization));
  reader.part("unlearning", into(parse_unlearning, unlearning));
  reader.part("baselines", into(parse_baselines, baselines));
  reader.part("rehearsal", into(RehearsalSettings::parse, rehearsal));
}

void LearningSettings::describe_in(nlohmann::ordered_json& setup) const {
  setup["training"] = describe(training);
  setup["personalization"] =
      fmt::format("{}, {}", method_title(personalization.method), describe(personalization.training));
  setup["operator"] = describe(unlearning);
  setup["guided"] = rehearsal.describe();
}

}  // namespace zkapex
