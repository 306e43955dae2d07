#include "service/s3_blobs.h"

#include <curl/curl.h>

#include "base/hash.h"
#include "base/scratch_file.h"

namespace zkapex {

namespace {

struct CleanUpCurl {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeHeaders {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};

// Bytes of a scratch file, as libcurl asks for them.
struct Upload {
  const ScratchFile* file;
  uint64_t bytes, sent = 0;
};
size_t send_part(char* out, size_t size, size_t count, void* upload) {
  auto& from = *static_cast<Upload*>(upload);
  const size_t part = std::min<uint64_t>(size * count, from.bytes - from.sent);
  if (!from.file->read(from.sent, {reinterpret_cast<uint8_t*>(out), part})) return CURL_READFUNC_ABORT;
  from.sent += part;
  return part;
}

// An answer, cut off where it is longer than anything that is expected.
struct Download {
  Bytes bytes;
  uint64_t most;
};
size_t take_part(const char* data, size_t size, size_t count, void* download) {
  auto& to = *static_cast<Download*>(download);
  if (size * count > to.most - to.bytes.size()) return 0;
  to.bytes.insert(to.bytes.end(), data, data + size * count);
  return size * count;
}

struct S3Answer {
  long status = 0;
  uint64_t length = 0;  // that a HEAD tells
  Bytes body;
};

// One request. Each has a handle of its own: any thread may make one.
class S3Request {
 public:
  S3Request(const S3Settings& settings, const std::string& path)
      : url_(fmt::format("{}/{}/{}", settings.endpoint, settings.bucket, path)), handle_(curl_easy_init()) {
    set(CURLOPT_URL, url_.c_str());
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_CONNECTTIMEOUT, 10L);
    set(CURLOPT_LOW_SPEED_LIMIT, 1024L);
    set(CURLOPT_LOW_SPEED_TIME, 60L);
    set(CURLOPT_AWS_SIGV4, fmt::format("aws:amz:{}:s3", settings.region).c_str());
    set(CURLOPT_USERNAME, settings.access_key.c_str());
    set(CURLOPT_PASSWORD, settings.secret_key.c_str());
  }

  Result<S3Answer> put(const ScratchFile& file, const BlobName& name) {
    Upload upload{&file, name.bytes};
    set(CURLOPT_UPLOAD, 1L);
    set(CURLOPT_INFILESIZE_LARGE, static_cast<curl_off_t>(name.bytes));
    set(CURLOPT_READFUNCTION, send_part);
    set(CURLOPT_READDATA, &upload);
    return perform(name.sha256, kMaxMessage);
  }
  Result<S3Answer> get(uint64_t most) { return perform(sha256({}), std::max(most, kMaxMessage)); }
  Result<S3Answer> remove() {
    set(CURLOPT_CUSTOMREQUEST, "DELETE");
    return perform(sha256({}), kMaxMessage);
  }
  Result<S3Answer> head() {
    set(CURLOPT_NOBODY, 1L);
    return perform(sha256({}), kMaxMessage);
  }

 private:
  static constexpr uint64_t kMaxMessage = 65'536;

  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(handle_.get(), option, value);  // of options that are always known: it cannot fail
  }

  // Without the header a streamed upload is refused.
  Result<S3Answer> perform(const Digest& payload, uint64_t most) {
    const std::string digest = fmt::format("x-amz-content-sha256: {}", to_hex(payload));
    const std::unique_ptr<curl_slist, FreeHeaders> headers(curl_slist_append(nullptr, digest.c_str()));
    Download download{{}, most};
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_WRITEFUNCTION, take_part);
    set(CURLOPT_WRITEDATA, &download);
    const CURLcode done = curl_easy_perform(handle_.get());
    if (done != CURLE_OK) return error("the blob store {} failed: {}", url_, curl_easy_strerror(done));
    S3Answer out;
    curl_off_t length = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &out.status);
    curl_easy_getinfo(handle_.get(), CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
    out.length = static_cast<uint64_t>(std::max<curl_off_t>(length, 0));
    out.body = std::move(download.bytes);
    return out;
  }

  std::string url_;
  std::unique_ptr<CURL, CleanUpCurl> handle_;
};

std::string s3_path(const BlobName& name) {
  const std::string hex = to_hex(name.sha256);
  return fmt::format("sha256/{}/{}/{}", hex.substr(0, 2), hex.substr(2, 2), hex);
}

Error s3_failure(std::string_view action, const BlobName& name, long status) {
  return error("the blob store answered {} where it should {} {}", status, action, to_hex(name.sha256));
}

class S3BlobWriter : public BlobWriter {
 public:
  S3BlobWriter(const S3Settings& settings, ScratchFile file, const BlobName& promised)
      : settings_(settings), file_(std::move(file)), promised_(promised) {}

  Status write(ByteView bytes) override {
    if (bytes.size() > promised_.bytes - written_) return error("more bytes than the {} announced", promised_.bytes);
    ZKAPEX_CHECK(file_.write(written_, bytes));
    written_ += bytes.size();
    hash_.update(bytes);
    return Done{};
  }

  Result<bool> finish() override {
    if (written_ != promised_.bytes || hash_.finish() != promised_.sha256) return false;
    ZKAPEX_TRY(const S3Answer answer, S3Request(settings_, s3_path(promised_)).put(file_, promised_));
    if (answer.status != 200) return s3_failure("keep", promised_, answer.status);
    return true;
  }

 private:
  const S3Settings& settings_;
  ScratchFile file_;
  BlobName promised_;
  Sha256 hash_;
  uint64_t written_ = 0;
};

class S3Blobs : public Blobs {
 public:
  explicit S3Blobs(S3Settings settings) : settings_(std::move(settings)) {}

  Result<std::unique_ptr<BlobWriter>> write(const BlobName& promised) override {
    ZKAPEX_TRY(ScratchFile file, ScratchFile::in(settings_.scratch));
    return std::unique_ptr<BlobWriter>(std::make_unique<S3BlobWriter>(settings_, std::move(file), promised));
  }

  Result<Bytes> read(const BlobName& name) override {
    ZKAPEX_TRY(S3Answer answer, S3Request(settings_, s3_path(name)).get(name.bytes));
    if (answer.status != 200) return s3_failure("give", name, answer.status);
    if (answer.body.size() != name.bytes || sha256(answer.body) != name.sha256)
      return error("the blob store's {} is damaged: restore it from a backup", to_hex(name.sha256));
    return std::move(answer.body);
  }

  Result<bool> has(const BlobName& name) override {
    ZKAPEX_TRY(const S3Answer answer, S3Request(settings_, s3_path(name)).head());
    if (answer.status == 404) return false;
    if (answer.status != 200) return s3_failure("know", name, answer.status);
    return answer.length == name.bytes;
  }

  Status remove(const BlobName& name) override {
    ZKAPEX_TRY(const S3Answer answer, S3Request(settings_, s3_path(name)).remove());
    if (answer.status != 200 && answer.status != 204 && answer.status != 404)
      return s3_failure("remove", name, answer.status);
    return Done{};
  }

 private:
  S3Settings settings_;
};

}  // namespace

Result<std::unique_ptr<Blobs>> open_s3(const S3Settings& settings) {
  static const CURLcode started = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (started != CURLE_OK) return error("libcurl cannot be used: {}", curl_easy_strerror(started));
  if (!settings.endpoint.starts_with("https://") && !settings.endpoint.starts_with("http://"))
    return error("{} is no endpoint of S3: give https://host", settings.endpoint);
  if (settings.bucket.empty() || settings.region.empty() || settings.access_key.empty() || settings.secret_key.empty())
    return error("S3 needs a bucket, a region, an access key and a secret key");
  return std::unique_ptr<Blobs>(std::make_unique<S3Blobs>(settings));
}

}  // namespace zkapex
