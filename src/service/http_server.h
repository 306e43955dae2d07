// An HTTP/1.1 server for strangers: every wait has a deadline, every length a limit that is checked before memory or
// disk is spent on it, and what is not understood is refused. TLS where it is given a certificate.
#pragma once

#include <chrono>
#include <memory>

#include "service/http_router.h"

namespace zkapex {

struct HttpLimits {
  std::chrono::milliseconds header{5'000};  // from the first byte of a request to the end of its head
  std::chrono::milliseconds idle{30'000};   // without a request
  std::chrono::milliseconds grace{5'000};   // before the rate of a body counts
  std::chrono::milliseconds linger{2'000};  // for a refusal to be read before the connection is cut
  uint64_t bytes_per_second = 16'000;       // the least rate of bodies, both ways
  uint32_t header_bytes = 16 * 1024;
  size_t connections = 1024;
};

struct HttpTls {
  Path certificate, key;  // PEM; the key must not be readable by others
};

struct HttpListener {
  std::string address = "127.0.0.1";
  uint16_t port = 0;  // 0: any that is free
  std::optional<HttpTls> tls;
};

// One answer that was sent, or could not be.
struct HttpServed {
  std::string method, route;  // the route's pattern; empty where none matched
  unsigned status = 0;
  uint64_t received = 0, sent = 0;  // bytes of bodies
  std::chrono::microseconds took{};
};
using HttpObserver = std::function<void(const HttpServed&)>;

struct HttpSettings {
  HttpListener listener;
  HttpLimits limits;
  unsigned handler_threads = 8;  // what waits for the database does not keep others from being read
  // Sent with every answer, beside Content-Type and Content-Length.
  std::vector<std::pair<std::string, std::string>> headers;
  HttpObserver observer;  // called by several threads at once
};

class HttpServer {
 public:
  // Listens when it returns. `router` is copied.
  [[nodiscard]] static Result<HttpServer> start(const Router& router, HttpSettings settings);

  HttpServer(HttpServer&& other) noexcept;
  HttpServer& operator=(HttpServer&& other) noexcept;
  ~HttpServer();  // cuts what is left

  [[nodiscard]] uint16_t port() const;
  [[nodiscard]] size_t connections() const;

  // Takes no new connections, ends idle ones, lets requests that have begun end. True if all did within `patience`;
  // the rest is cut.
  bool drain(std::chrono::milliseconds patience);

 private:
  struct State;
  explicit HttpServer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace zkapex
