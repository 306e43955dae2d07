#include "experiments/vision_settings.h"

#include <algorithm>

#include "tables/cells.h"

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

}  // namespace

Result<VisionSettings> VisionSettings::parse(const json& settings, const std::string& where) {
  VisionSettings out;
  ConfigReader reader(settings, where);
  reader.part("images", [&](const json& part, const std::string& at) { return parse_images(part, at, out); });
  reader.part("model", [&](const json& part, const std::string& at) { return parse_model(part, at, out.model); });
  out.read_from(reader);
  ZKAPEX_CHECK(reader.finish());
  return out;
}

nlohmann::ordered_json VisionSettings::describe() const {
  nlohmann::ordered_json out = {
      {"data", fmt::format("Fashion-MNIST: {} photos to train on (D), {} sketches to personalize on (D_p), {} "
                           "and {} to test on ({} and {} to choose settings on)",
                           images.train, images.personal, images.test, images.personal_test, images.validation,
                           images.personal_validation)},
      {"model", fmt::format("ViT, {} blocks of width {}, MLP {}, {} heads, patches of {} pixels", model.layers,
                            model.hidden, model.intermediate, model.heads, model.patch)}};
  describe_in(out);
  return out;
}

Result<std::vector<ForgetRequest>> parse_requests(const json& list, const std::string& where) {
  std::vector<ForgetRequest> out;
  if (!list.is_array() || list.empty()) return error("{} must be a list of requests", where);
  for (const json& item : list) {
    ForgetRequest request;
    double damping = 0;
    ConfigReader reader(item, where);
    reader.read("name", request.name).read("title", request.title).read("forget", request.forget);
    reader.read_if_there("damping", damping).read_if_there("overlap", request.overlap);
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
