// Finished cells on disk: OUT/cells/NAME/VARIANT-seedN.json, one file each, bound to the configuration that made it.
#pragma once

#include <optional>
#include <string>

#include "base/files.h"
#include "base/json.h"

namespace zkapex {

struct CellKey {
  std::string experiment, variant;
  uint64_t seed = 0;
  // SHA-256 in hexadecimal of all that decides the figures: settings, what they are measured on.
  std::string configuration;
};

// What the digest is of.
[[nodiscard]] std::string configuration_digest(const nlohmann::json& settings, const std::string& measured_on);

// Whether it can be a part of a file's name as it is.
[[nodiscard]] bool is_variant_name(const std::string& name);

class CellStore {
 public:
  explicit CellStore(Path out) : out_(std::move(out)) {}

  [[nodiscard]] Path file(const CellKey& key) const;
  // A finished cell with its "figures", or nothing. A file of another configuration, or damaged, is an error.
  [[nodiscard]] Result<std::optional<nlohmann::ordered_json>> load(const CellKey& key) const;
  // `record` has "figures" and whatever else is worth keeping (seconds, machine).
  [[nodiscard]] Status save(const CellKey& key, const nlohmann::ordered_json& record) const;

 private:
  Path out_;
};

}  // namespace zkapex
