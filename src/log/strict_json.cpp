#include "log/strict_json.h"

#include "base/names.h"

namespace zkapex {

namespace {

constexpr int kMaxDepth = 16;
constexpr uint64_t kMaxNumber = uint64_t{1} << 53;  // larger ones are not the same to everybody who reads JSON

// Looks at what the parser meets, and remembers the first thing that is wrong.
class JsonWatcher {
 public:
  bool operator()(int depth, nlohmann::json::parse_event_t event, const nlohmann::json& parsed) {
    using Event = nlohmann::json::parse_event_t;
    if (event == Event::object_start || event == Event::array_start) {
      if (depth >= kMaxDepth) note(fmt::format("more than {} levels of JSON", kMaxDepth));
      if (event == Event::object_start) keys_.emplace_back();
    } else if (event == Event::key) {
      if (!keys_.back().insert(parsed.get<std::string>()).second)
        note(fmt::format("the key {} is there twice", in_quotes(parsed.get<std::string>())));
    } else if (event == Event::object_end) {
      keys_.pop_back();
    }
    return true;
  }
  [[nodiscard]] const std::string& problem() const { return problem_; }

 private:
  void note(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  std::vector<std::set<std::string>> keys_;  // of the objects that are open
  std::string problem_;
};

}  // namespace

Result<nlohmann::json> parse_strict_json(std::string_view text) {
  JsonWatcher watcher;
  nlohmann::json out = nlohmann::json::parse(text, std::ref(watcher), false);
  if (!watcher.problem().empty()) return error("{}", watcher.problem());
  if (out.is_discarded()) return error("this is no valid JSON");
  return out;
}

Result<Sha256::Digest> digest_from_hex(std::string_view text) {
  const Result<Bytes> bytes = from_hex(text);
  Sha256::Digest out;
  if (!bytes || bytes->size() != out.size() || to_hex(*bytes) != text)
    return error("a digest has {} lower-case hexadecimal digits", 2 * out.size());
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

Result<JsonObject> JsonObject::open(const nlohmann::json& value, std::string what) {
  if (!value.is_object()) return error("{} is no JSON object", what);
  return JsonObject(value, std::move(what));
}

bool JsonObject::has(const std::string& key) const { return value_->contains(key); }

Result<const nlohmann::json*> JsonObject::value(const std::string& key) {
  const auto at = value_->find(key);
  if (at == value_->end()) return error("{} has no \"{}\"", what_, key);
  read_.insert(key);
  return &*at;
}

Result<std::string> JsonObject::text(const std::string& key, size_t max_bytes) {
  ZKAPEX_TRY(const nlohmann::json* field, value(key));
  if (!field->is_string()) return error("\"{}\" of {} is no text", key, what_);
  const auto& out = field->get_ref<const std::string&>();
  if (out.size() > max_bytes) return error("\"{}\" of {} has more than {} bytes", key, what_, max_bytes);
  return out;
}

Result<std::string> JsonObject::name(const std::string& key) {
  ZKAPEX_TRY(std::string out, text(key, kMaxName));
  ZKAPEX_CHECK(check_name(out, fmt::format("\"{}\" of {}", key, what_)));
  return out;
}

Result<uint64_t> JsonObject::number(const std::string& key) {
  ZKAPEX_TRY(const nlohmann::json* field, value(key));
  if (!field->is_number_unsigned() || field->get<uint64_t>() > kMaxNumber)
    return error("\"{}\" of {} is no integer from 0 to 2^53", key, what_);
  return field->get<uint64_t>();
}

Result<bool> JsonObject::truth(const std::string& key) {
  ZKAPEX_TRY(const nlohmann::json* field, value(key));
  if (!field->is_boolean()) return error("\"{}\" of {} is neither true nor false", key, what_);
  return field->get<bool>();
}

Result<Sha256::Digest> JsonObject::digest(const std::string& key) {
  ZKAPEX_TRY(const std::string hex, text(key, 64));
  Result<Sha256::Digest> out = digest_from_hex(hex);
  if (!out) return out.error().within(fmt::format("\"{}\" of {}", key, what_));
  return out;
}

Result<UnixTime> JsonObject::time(const std::string& key) {
  ZKAPEX_TRY(const std::string written, text(key, 32));
  Result<UnixTime> out = from_rfc3339(written);
  if (!out) return out.error().within(fmt::format("\"{}\" of {}", key, what_));
  return out;
}

Result<JsonObject> JsonObject::object(const std::string& key) {
  ZKAPEX_TRY(const nlohmann::json* field, value(key));
  return open(*field, fmt::format("\"{}\" of {}", key, what_));
}

Status JsonObject::finish() const {
  for (const auto& [key, field] : value_->items()) {
    if (!read_.contains(key)) return error("{} has {}, which is unknown here", what_, in_quotes(key));
  }
  return Done{};
}

}  // namespace zkapex
