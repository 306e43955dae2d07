#include "agent/web_client.h"

#include <curl/curl.h>

#include <algorithm>
#include <charconv>

namespace zkapex {

namespace {

struct CurlLibrary {
  CurlLibrary() { curl_global_init(CURL_GLOBAL_DEFAULT); }
};

struct CloseHandle {
  void operator()(CURL* handle) const { curl_easy_cleanup(handle); }
};
struct FreeList {
  void operator()(curl_slist* list) const { curl_slist_free_all(list); }
};
struct FreeUrl {
  void operator()(CURLU* url) const { curl_url_cleanup(url); }
};
using Handle = std::unique_ptr<CURL, CloseHandle>;
using HeaderList = std::unique_ptr<curl_slist, FreeList>;

constexpr uint64_t kMostRetryAfter = 24 * 3600;

// What is being received, and how much more of it may come.
struct Incoming {
  WebAnswer answer;
  size_t room = 0;
  bool too_long = false;
};

size_t receive(char* data, size_t size, size_t count, void* into) {
  auto& incoming = *static_cast<Incoming*>(into);
  const size_t bytes = size * count;
  if (bytes > incoming.room) {
    incoming.too_long = true;
    return CURL_WRITEFUNC_ERROR;
  }
  incoming.room -= bytes;
  incoming.answer.body.insert(incoming.answer.body.end(), data, data + bytes);
  return bytes;
}

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

// The value of a header line with that name, which is in lower case.
std::optional<std::string_view> value_of(std::string_view line, std::string_view name) {
  const size_t colon = line.find(':');
  if (colon != name.size()) return std::nullopt;
  const auto same = [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; };
  if (!std::equal(name.begin(), name.end(), line.begin(), [&](char n, char l) { return same(l, n); }))
    return std::nullopt;
  return trimmed(line.substr(colon + 1));
}

size_t receive_header(char* data, size_t size, size_t count, void* into) {
  auto& incoming = *static_cast<Incoming*>(into);
  const std::string_view line(data, size * count);
  if (const auto etag = value_of(line, "etag")) incoming.answer.etag = *etag;
  if (const auto wait = value_of(line, "retry-after")) {
    uint64_t seconds = 0;
    if (std::from_chars(wait->data(), wait->data() + wait->size(), seconds).ec == std::errc())
      incoming.answer.retry_after = std::min(seconds, kMostRetryAfter);
  }
  return size * count;
}

class CurlClient : public WebClient {
 public:
  explicit CurlClient(WebLimits limits) : limits_(std::move(limits)) {
    static const CurlLibrary library;
    handle_.reset(curl_easy_init());
  }

  Result<WebAnswer> send(const WebRequest& request) override {
    if (!handle_) return error("cannot start the network library");
    curl_easy_reset(handle_.get());  // connections stay open
    Incoming incoming{.answer = {}, .room = request.max_answer};
    std::array<char, CURL_ERROR_SIZE> why{};
    const HeaderList headers = headers_of(request);
    set_limits();
    set(CURLOPT_URL, request.url.c_str());
    set(CURLOPT_HTTPHEADER, headers.get());
    set(CURLOPT_ERRORBUFFER, why.data());
    set(CURLOPT_WRITEFUNCTION, &receive);
    set(CURLOPT_WRITEDATA, &incoming);
    set(CURLOPT_HEADERFUNCTION, &receive_header);
    set(CURLOPT_HEADERDATA, &incoming);
    if (request.method != WebMethod::kGet) {
      set(CURLOPT_POST, 1L);
      set(CURLOPT_POSTFIELDS, request.body.data());
      set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
      if (request.method == WebMethod::kPut) set(CURLOPT_CUSTOMREQUEST, "PUT");
    }
    const CURLcode done = curl_easy_perform(handle_.get());
    if (incoming.too_long) return error("{} answers with more than {} bytes", request.url, request.max_answer);
    if (done != CURLE_OK)
      return error("cannot reach {}: {}", request.url, why[0] != 0 ? why.data() : curl_easy_strerror(done));
    long status = 0;
    curl_easy_getinfo(handle_.get(), CURLINFO_RESPONSE_CODE, &status);
    incoming.answer.status = static_cast<int>(status);
    return std::move(incoming.answer);
  }

 private:
  template <class Value>
  void set(CURLoption option, Value value) {
    curl_easy_setopt(handle_.get(), option, value);  // of options that are always known: it cannot fail
  }

  void set_limits() {
    set(CURLOPT_NOSIGNAL, 1L);
    set(CURLOPT_PROTOCOLS_STR, "http,https");
    set(CURLOPT_FOLLOWLOCATION, 0L);
    set(CURLOPT_CONNECTTIMEOUT, limits_.connect_seconds);
    set(CURLOPT_TIMEOUT, limits_.total_seconds);
    set(CURLOPT_LOW_SPEED_TIME, limits_.slow_seconds);
    set(CURLOPT_LOW_SPEED_LIMIT, limits_.slow_bytes);
    set(CURLOPT_USERAGENT, "zkapex/" ZKAPEX_VERSION);
    if (!limits_.authorities.empty()) set(CURLOPT_CAINFO, limits_.authorities.c_str());
  }

  static HeaderList headers_of(const WebRequest& request) {
    curl_slist* list = curl_slist_append(nullptr, "Expect:");  // no question before a body
    if (!request.type.empty()) list = curl_slist_append(list, ("Content-Type: " + request.type).c_str());
    if (!request.etag.empty()) list = curl_slist_append(list, ("If-None-Match: " + request.etag).c_str());
    return HeaderList(list);
  }

  WebLimits limits_;
  Handle handle_;
};

std::string part_of(CURLU* url, CURLUPart part) {
  char* text = nullptr;
  if (curl_url_get(url, part, &text, 0) != CURLUE_OK) return {};
  std::string out(text);
  curl_free(text);
  return out;
}

bool is_this_machine(const std::string& host) { return host == "localhost" || host == "127.0.0.1" || host == "[::1]"; }

}  // namespace

Result<WebAnswer> ListeningClient::send(const WebRequest& request) {
  Result<WebAnswer> answer = web_->send(request);
  if (answer) retry_after_ = std::max(retry_after_, answer->retry_after);
  return answer;
}

std::unique_ptr<WebClient> make_web_client(const WebLimits& limits) { return std::make_unique<CurlClient>(limits); }

Result<std::string> provider_address(std::string_view url) {
  const std::unique_ptr<CURLU, FreeUrl> parsed(curl_url());
  std::string text(url);
  while (text.ends_with('/')) text.pop_back();
  if (curl_url_set(parsed.get(), CURLUPART_URL, text.c_str(), 0) != CURLUE_OK)
    return error("'{}' is no address; give one such as https://provider.example", url);
  const std::string scheme = part_of(parsed.get(), CURLUPART_SCHEME);
  if (scheme != "https" && scheme != "http") return error("the provider's address begins with https:// or http://");
  for (const CURLUPart part : {CURLUPART_USER, CURLUPART_PASSWORD, CURLUPART_QUERY, CURLUPART_FRAGMENT}) {
    if (!part_of(parsed.get(), part).empty())
      return error("the provider's address is only a host and a path: no user, no '?' and no '#'");
  }
  if (scheme == "http" && !is_this_machine(part_of(parsed.get(), CURLUPART_HOST)))
    return error("http:// is for this machine only: others could read the one-time code; use https://");
  return text;
}

}  // namespace zkapex
