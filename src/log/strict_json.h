// JSON from strangers: bounded in depth, no key twice, and no field that nobody asked for.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/hash.h"
#include "base/json.h"
#include "base/result.h"
#include "log/time.h"

namespace zkapex {

// Valid JSON in valid UTF-8, at most 16 deep, with no key twice in one object. The caller bounds the length.
[[nodiscard]] Result<nlohmann::json> parse_strict_json(std::string_view text);

// One object, field by field. Each read is of a field that must be there and of the named type; `finish` refuses what
// was not read. `what` is for messages: "the predicate".
class JsonObject {
 public:
  [[nodiscard]] static Result<JsonObject> open(const nlohmann::json& value, std::string what);

  [[nodiscard]] bool has(const std::string& key) const;
  [[nodiscard]] Result<const nlohmann::json*> value(const std::string& key);  // of any type
  [[nodiscard]] Result<std::string> text(const std::string& key, size_t max_bytes);
  [[nodiscard]] Result<std::string> name(const std::string& key);  // as check_name has it
  [[nodiscard]] Result<uint64_t> number(const std::string& key);   // an integer, at most 2^53
  [[nodiscard]] Result<bool> truth(const std::string& key);
  [[nodiscard]] Result<Sha256::Digest> digest(const std::string& key);  // 64 lower-case hexadecimal digits
  [[nodiscard]] Result<UnixTime> time(const std::string& key);
  [[nodiscard]] Result<JsonObject> object(const std::string& key);
  [[nodiscard]] Status finish() const;

  [[nodiscard]] const std::string& what() const { return what_; }

 private:
  JsonObject(const nlohmann::json& value, std::string what) : value_(&value), what_(std::move(what)) {}

  const nlohmann::json* value_;  // outlives this
  std::string what_;
  std::set<std::string> read_;
};

// 64 lower-case hexadecimal digits.
[[nodiscard]] Result<Sha256::Digest> digest_from_hex(std::string_view text);

}  // namespace zkapex
