// Blobs in a bucket of S3, or of anything that speaks it: requests signed by libcurl's SigV4, paths as in a folder of
// blobs (blobs.h).
#pragma once

#include "service/blobs.h"

namespace zkapex {

struct S3Settings {
  std::string endpoint;  // "https://s3.eu-central-1.amazonaws.com", without a path
  std::string bucket, region;
  std::string access_key, secret_key;
  Path scratch;  // where uploads wait until they are known to be what was announced
};

[[nodiscard]] Result<std::unique_ptr<Blobs>> open_s3(const S3Settings& settings);

}  // namespace zkapex
