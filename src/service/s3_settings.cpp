#include "service/s3_settings.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstdlib>

namespace zkapex {

namespace {

constexpr size_t kMaxCredentials = 4096;

struct S3Keys {
  std::string access, secret;
};

Result<S3Keys> keys_of_file(const Path& file) {
  struct stat info {};
  if (::stat(file.c_str(), &info) != 0) return file_failure("read", file, errno);
  if ((info.st_mode & 077) != 0)
    return error("{} may be read by others than its owner: chmod 600 it first", file.string());
  ZKAPEX_TRY(const Bytes bytes, read_file(file, kMaxCredentials));
  const auto keys = [&]() -> Result<S3Keys> {
    ZKAPEX_TRY(const nlohmann::json json,
               parse_strict_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}));
    ZKAPEX_TRY(JsonObject object, JsonObject::open(json, "the keys of S3"));
    S3Keys out;
    ZKAPEX_TRY(out.access, object.text("access_key", kMaxCredentials));
    ZKAPEX_TRY(out.secret, object.text("secret_key", kMaxCredentials));
    ZKAPEX_CHECK(object.finish());
    return out;
  }();
  if (!keys.ok()) return keys.error().within(file.string());
  return keys;
}

Result<S3Keys> keys_of_environment() {
  const char* const access = std::getenv("AWS_ACCESS_KEY_ID");
  const char* const secret = std::getenv("AWS_SECRET_ACCESS_KEY");
  if (access == nullptr || secret == nullptr)
    return error("S3 needs keys: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or name a file of credentials");
  return S3Keys{access, secret};
}

}  // namespace

nlohmann::ordered_json S3Location::json() const {
  return {{"endpoint", endpoint}, {"bucket", bucket}, {"region", region}, {"credentials", credentials}};
}

Result<S3Location> S3Location::read(JsonObject& object) {
  S3Location out;
  ZKAPEX_TRY(out.endpoint, object.text("endpoint", 1024));
  ZKAPEX_TRY(out.bucket, object.text("bucket", 256));
  ZKAPEX_TRY(out.region, object.text("region", 256));
  ZKAPEX_TRY(out.credentials, object.text("credentials", 4096));
  ZKAPEX_CHECK(object.finish());
  return out;
}

Result<S3Settings> s3_settings_of(const S3Location& location, const Path& folder, const Path& scratch) {
  ZKAPEX_TRY(const S3Keys keys,
             location.credentials.empty() ? keys_of_environment() : keys_of_file(folder / location.credentials));
  S3Settings out;
  out.endpoint = location.endpoint;
  out.bucket = location.bucket;
  out.region = location.region;
  out.access_key = keys.access;
  out.secret_key = keys.secret;
  out.scratch = scratch;
  return out;
}

}  // namespace zkapex
