// Where a provider's blobs are, if not in its folder: a part of its settings. The keys are not in them.
#pragma once

#include "log/strict_json.h"
#include "service/s3_blobs.h"

namespace zkapex {

struct S3Location {
  std::string endpoint, bucket, region;  // as S3Settings has them
  // A file that only its owner may read: {"access_key": "…", "secret_key": "…"}. Empty: AWS_ACCESS_KEY_ID and
  // AWS_SECRET_ACCESS_KEY of the environment.
  std::string credentials;

  [[nodiscard]] nlohmann::ordered_json json() const;
  [[nodiscard]] static Result<S3Location> read(JsonObject& object);
  bool operator==(const S3Location&) const = default;
};

// With the keys; uploads wait in `scratch`. The file's name is relative to `folder`.
[[nodiscard]] Result<S3Settings> s3_settings_of(const S3Location& location, const Path& folder, const Path& scratch);

}  // namespace zkapex
