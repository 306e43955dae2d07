#include "tables/config.h"

#include "data/documents.h"

namespace zkapex {

namespace fs = std::filesystem;
using nlohmann::json;

namespace {

struct ConfigFile {
  std::string experiment, base;
  json settings = json::object(), quick = json::object(), paper = json::object();
  std::vector<std::string> notes;
};

Status read_object(const json& from, const std::string& where, json& out) {
  if (!from.is_object()) return error("{} must be an object", where);
  out = from;
  return Done{};
}

Result<ConfigFile> read_file_of(const fs::path& file) {
  ZKAPEX_TRY(const json document, read_json(file));
  ConfigFile out;
  const auto object = [](json& into) {
    return [&into](const json& value, const std::string& where) { return read_object(value, where, into); };
  };
  ConfigReader reader(document, "the configuration");
  reader.read("experiment", out.experiment).read_if_there("base", out.base).part("settings", object(out.settings));
  if (document.is_object() && document.contains("quick")) reader.part("quick", object(out.quick));
  if (document.is_object() && document.contains("paper")) reader.part("paper", object(out.paper));
  reader.read_if_there("notes", out.notes);
  if (const Status good = reader.finish(); !good.ok()) return good.error().within(file.string());
  return out;
}

}  // namespace

Result<ExperimentConfig> ExperimentConfig::load(const fs::path& file, std::string_view experiment, bool quick) {
  ZKAPEX_TRY(ConfigFile own, read_file_of(file));
  if (own.experiment != experiment)
    return error("{} is the configuration of the experiment '{}', not of '{}'", file.string(), own.experiment,
                 experiment);
  ExperimentConfig out;
  json patch = json::object();
  if (!own.base.empty()) {
    ZKAPEX_TRY(ConfigFile base, read_file_of(file.parent_path() / own.base));
    if (!base.base.empty()) return error("{}: a base cannot have a base", own.base);
    out.settings = std::move(base.settings);
    patch = std::move(base.quick);
  }
  out.settings.merge_patch(own.settings);
  patch.merge_patch(own.quick);
  if (quick) out.settings.merge_patch(patch);
  out.paper = std::move(own.paper);
  out.notes = std::move(own.notes);
  return out;
}

Result<fs::path> find_config(std::string_view experiment, const fs::path& program) {
  const fs::path name = fs::path("experiments") / fmt::format("{}.json", experiment);
  const fs::path beside = program.parent_path().parent_path() / name;
  std::error_code ignored;
  for (const fs::path& candidate : {name, beside}) {
    if (fs::is_regular_file(candidate, ignored)) return candidate;
  }
  return error("the configuration of '{}' is neither {} nor {}; run from the repository's folder, or give --config",
               experiment, name.string(), beside.string());
}

ConfigReader::ConfigReader(const json& object, std::string where) : object_(object), where_(std::move(where)) {
  if (!object_.is_object()) fail(error("{} must be an object", where_));
}

const json* ConfigReader::find(std::string_view key, bool required) {
  asked_.emplace(key);
  if (error_) return nullptr;
  const auto found = object_.find(key);
  if (found != object_.end()) return &*found;
  if (required) fail(error("{}.{} is missing", where_, key));
  return nullptr;
}

ConfigReader& ConfigReader::require(bool good, std::string_view key, std::string_view rule) {
  if (!good) fail(error("{}.{} {}", where_, key, rule));
  return *this;
}

void ConfigReader::fail(Error error) {
  if (!error_) error_ = std::move(error);
}

Status ConfigReader::finish() const {
  if (error_) return *error_;
  for (const auto& [key, value] : object_.items()) {
    if (!asked_.contains(key)) return error("{} has '{}', which means nothing here", where_, key);
  }
  return Done{};
}

}  // namespace zkapex
