#include <algorithm>

#include "experiments/code.h"

namespace zkapex {

using nlohmann::json;

namespace {

Status parse_data(const json& from, const std::string& where, CodeSettings& out) {
  CodeDeal& d = out.data;
  ConfigReader reader(from, where);
  reader.read("languages", d.languages).read("personal_language", d.personal_language);
  reader.read("forget_language", d.forget_language).read("forget_part", d.forget_part);
  reader.read("train", d.train).read("validation", d.validation).read("test", d.test);
  reader.read("personal", d.personal).read("personal_validation", d.personal_validation);
  reader.read("personal_test", d.personal_test).read("vocabulary", out.vocabulary).read("window", out.window);
  reader.require(d.forget_part > 0 && d.forget_part < 1, "forget_part", "must be between 0 and 1");
  reader.require(std::ranges::find(d.languages, d.forget_language) != d.languages.end(), "forget_language",
                 "must be one of the languages");
  reader.require(std::ranges::find(d.languages, d.personal_language) == d.languages.end(), "personal_language",
                 "must not be one of the provider's languages");
  for (const auto& [key, count] : {std::pair("train", d.train),
                                   {"validation", d.validation},
                                   {"test", d.test},
                                   {"personal", d.personal},
                                   {"personal_validation", d.personal_validation},
                                   {"personal_test", d.personal_test}}) {
    reader.require(count > 0 && count <= 10'000'000, key, "must be between 1 and 10000000");
  }
  reader.require(out.vocabulary >= 300 && out.vocabulary <= 100'000, "vocabulary", "must be between 300 and 100000");
  reader.require(out.window >= 8 && out.window <= 4096, "window", "must be between 8 and 4096");
  return reader.finish();
}

Status parse_model(const json& from, const std::string& where, OptShape& out) {
  ConfigReader reader(from, where);
  reader.read("hidden", out.hidden).read("layers", out.layers).read("heads", out.heads);
  return reader.read("intermediate", out.intermediate).finish();
}

}  // namespace

Result<CodeSettings> CodeSettings::parse(const json& settings, const std::string& where) {
  CodeSettings out;
  ConfigReader reader(settings, where);
  reader.part("data", [&](const json& part, const std::string& at) { return parse_data(part, at, out); });
  reader.part("model", [&](const json& part, const std::string& at) { return parse_model(part, at, out.model); });
  out.read_from(reader);
  ZKAPEX_CHECK(reader.finish());
  return out;
}

nlohmann::ordered_json CodeSettings::describe() const {
  nlohmann::ordered_json out = {
      {"data",
       fmt::format("sources of Debian packages (scripts/collect-code), windows of {} tokens, byte-level BPE of {} "
                   "tokens learned from the provider's files: {} windows of each of {} to train on; {} windows of "
                   "{} to personalize on; {} and {} to test on ({} and {} to choose settings on); files are never "
                   "divided",
                   window, vocabulary, data.train, fmt::join(data.languages, ", "), data.personal,
                   data.personal_language, data.test, data.personal_test, data.validation, data.personal_validation)},
      {"forgotten",
       fmt::format("{} % of the training windows in {}, whole files", 100 * data.forget_part, data.forget_language)},
      {"model", fmt::format("OPT, {} blocks of width {}, MLP {}, {} heads, from random weights", model.layers,
                            model.hidden, model.intermediate, model.heads)}};
  describe_in(out);
  return out;
}

}  // namespace zkapex
