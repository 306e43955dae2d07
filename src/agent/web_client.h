// What the agent asks of the network: one request, one answer, both in memory. Nothing that comes back is believed
// because of where it came from; signatures and digests are checked by who asked.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "base/bytes.h"
#include "base/files.h"

namespace zkapex {

enum class WebMethod { kGet, kPost, kPut };

struct WebRequest {
  WebMethod method = WebMethod::kGet;
  std::string url;
  std::string type = {};  // of the body; POST and PUT
  Bytes body = {};
  std::string etag = {};  // of what is there already: 304 where that is still what would be sent
  size_t max_answer = 0;  // bytes; an answer that is longer is an error
};

struct WebAnswer {
  int status = 0;
  std::string etag = {};
  uint64_t retry_after = 0;  // seconds that the other side asks for; 0 where it does not
  Bytes body = {};
};

class WebClient {
 public:
  WebClient() = default;
  WebClient(const WebClient&) = delete;
  WebClient& operator=(const WebClient&) = delete;
  virtual ~WebClient() = default;

  // An error where no whole answer came: the same request may be sent again. Every status is an answer.
  [[nodiscard]] virtual Result<WebAnswer> send(const WebRequest& request) = 0;
};

// Another client, and what the other side asked for meanwhile.
class ListeningClient : public WebClient {
 public:
  explicit ListeningClient(WebClient& web) : web_(&web) {}
  [[nodiscard]] Result<WebAnswer> send(const WebRequest& request) override;
  // The longest that it asked to be left alone, in seconds, since the last call of this.
  [[nodiscard]] uint64_t take_retry_after() { return std::exchange(retry_after_, 0); }

 private:
  WebClient* web_;
  uint64_t retry_after_ = 0;
};

struct WebLimits {
  long connect_seconds = 10;
  long total_seconds = 900;
  long slow_seconds = 60;  // so long with less than slow_bytes a second, and the request has failed
  long slow_bytes = 1024;
  Path authorities = {};  // certificates that sign the provider's, instead of the system's
};

// By libcurl: http and https only, redirections are not followed, certificates are checked.
[[nodiscard]] std::unique_ptr<WebClient> make_web_client(const WebLimits& limits = {});

// "https://host/prefix", without a slash at its end. An error for what is neither http nor https, or has a user, a
// query or a fragment in it; for http to another machine too, where a one-time code could be read on its way.
[[nodiscard]] Result<std::string> provider_address(std::string_view url);

}  // namespace zkapex
