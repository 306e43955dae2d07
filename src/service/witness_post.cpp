#include "service/witness_post.h"

#include <curl/curl.h>

#include <memory>

namespace zkapex {

namespace {

constexpr long kWitnessSeconds = 10;
constexpr size_t kMaxWitnessAnswer = 65'536;

size_t collect(const char* bytes, size_t size, size_t count, void* out) {
  auto& text = *static_cast<std::string*>(out);
  if (text.size() + size * count > kMaxWitnessAnswer) return 0;
  text.append(bytes, size * count);
  return size * count;
}

}  // namespace

Result<HttpAnswer> post_to_witness(const std::string& url, const std::string& body) {
  const std::unique_ptr<CURL, decltype(&curl_easy_cleanup)> curl(curl_easy_init(), &curl_easy_cleanup);
  if (curl == nullptr) return error("libcurl cannot be used");
  HttpAnswer answer;
  curl_easy_setopt(curl.get(), CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(curl.get(), CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl.get(), CURLOPT_TIMEOUT, kWitnessSeconds);
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
  curl_easy_setopt(curl.get(), CURLOPT_POSTFIELDS, body.c_str());
  curl_easy_setopt(curl.get(), CURLOPT_WRITEFUNCTION, collect);
  curl_easy_setopt(curl.get(), CURLOPT_WRITEDATA, &answer.body);
  if (const CURLcode failed = curl_easy_perform(curl.get()); failed != CURLE_OK)
    return error("{}: {}", url, curl_easy_strerror(failed));
  long status = 0;
  curl_easy_getinfo(curl.get(), CURLINFO_RESPONSE_CODE, &status);
  answer.status = static_cast<int>(status);
  return answer;
}

}  // namespace zkapex
