// One connection of an HttpServer, as a coroutine. Included by http_server.cpp only: what it includes takes seconds to
// compile.
#pragma once

#include <atomic>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl.hpp>

#include "service/http_server.h"

namespace zkapex::http_detail {

namespace net = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using PlainStream = beast::tcp_stream;
using TlsStream = beast::ssl_stream<beast::tcp_stream>;
using Steady = std::chrono::steady_clock;

// What all connections of a server share.
struct Shared {
  Router router;
  HttpSettings settings;
  net::thread_pool handlers;
  std::atomic<size_t> connections{0};
  std::atomic<bool> draining{false};

  Shared(Router r, HttpSettings s) : router(std::move(r)), settings(std::move(s)), handlers(settings.handler_threads) {}
};

// So that a server can end it.
class ConnectionBase {
 public:
  virtual ~ConnectionBase() = default;
  virtual void close_if_idle() = 0;  // from any thread
  virtual void cut() = 0;            // from any thread
};

constexpr auto kNoThrow = net::as_tuple(net::use_awaitable);

// GCC 12 copies temporaries of an expression with co_await byte by byte, strings too: what is awaited is given names of
// its own, and takes references to them.
template <class Stream>
class Connection : public ConnectionBase, public std::enable_shared_from_this<Connection<Stream>> {
 public:
  template <class... Args>
  Connection(std::shared_ptr<Shared> shared, Args&&... args)
      : shared_(std::move(shared)), stream_(std::forward<Args>(args)...), buffer_(2 * kPiece) {
    shared_->connections.fetch_add(1);
  }
  ~Connection() override { shared_->connections.fetch_sub(1); }

  void start() {
    net::co_spawn(
        stream_.get_executor(), [self = this->shared_from_this()] { return self->run(); }, net::detached);
  }
  void close_if_idle() override {
    net::post(stream_.get_executor(), [self = this->shared_from_this()] {
      if (self->idle_) beast::get_lowest_layer(self->stream_).cancel();
    });
  }
  void cut() override {
    net::post(stream_.get_executor(), [self = this->shared_from_this()] { self->close(); });
  }

 private:
  static constexpr size_t kPiece = 64 * 1024;
  using Parser = http::request_parser<http::buffer_body>;

  [[nodiscard]] const HttpLimits& limits() const { return shared_->settings.limits; }
  auto& socket() { return beast::get_lowest_layer(stream_); }
  void deadline(Steady::time_point at) { socket().expires_at(at); }
  void close() {
    beast::error_code ignored;
    socket().socket().close(ignored);
  }

  net::awaitable<void> run() {
    bool open = true;
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      deadline(Steady::now() + limits().header);
      const auto [failed] = co_await stream_.async_handshake(net::ssl::stream_base::server, kNoThrow);
      open = !failed;
    }
    while (open && !shared_->draining.load()) open = co_await serve_one();
    co_await end();
  }

  // False where the connection ends with it.
  net::awaitable<bool> serve_one() {
    if (!co_await first_byte()) co_return false;
    served_ = {};
    begun_ = Steady::now();
    deadline(begun_ + limits().header);
    Parser parser;
    parser.header_limit(limits().header_bytes);
    parser.body_limit(boost::none);  // what may follow is for the route to say, before a byte of it is read
    const auto [failed, count] = co_await http::async_read_header(stream_, buffer_, parser, kNoThrow);
    if (failed) {
      const std::optional<HttpResponse> refusal = refusal_of(failed);
      if (refusal) co_await refuse(*refusal);
      co_return false;
    }
    co_return co_await answer(parser);
  }

  net::awaitable<bool> first_byte() {
    if (buffer_.size() > 0) co_return true;  // of a request that came with the one before
    deadline(Steady::now() + limits().idle);
    idle_ = true;
    const auto [failed, count] = co_await stream_.async_read_some(buffer_.prepare(4096), kNoThrow);
    idle_ = false;
    if (failed) co_return false;
    buffer_.commit(count);
    co_return true;
  }

  // An answer where the other side can be expected to read one. Who is late is cut without one: the stream closes
  // itself.
  [[nodiscard]] static std::optional<HttpResponse> refusal_of(const beast::error_code& failed) {
    if (failed == http::error::header_limit || failed == http::error::buffer_overflow)
      return problem(ProblemKind::kTooLarge, "the head of the request is too long");
    if (failed.category() == http::make_error_code(http::error::bad_method).category() &&
        failed != http::error::end_of_stream && failed != http::error::partial_message)
      return problem(ProblemKind::kMalformed, "this is not a request of HTTP/1.1");
    return std::nullopt;
  }

  [[nodiscard]] static HttpRequest head_of(const Parser& parser) {
    HttpRequest request;
    const auto& message = parser.get();
    request.method = std::string(message.method_string());
    for (const auto& field : message) {
      std::string name(field.name_string());
      std::ranges::transform(name, name.begin(), [](char c) { return c >= 'A' && c <= 'Z' ? char(c + 32) : c; });
      request.headers[name] = std::string(field.value());
    }
    if (const auto length = parser.content_length()) request.content_length = *length;
    return request;
  }

  // What is wrong with the body, by what the head says of it.
  [[nodiscard]] static std::optional<HttpResponse> refusal_of_body(const HttpRequest& request, const Route& route) {
    if (request.headers.contains("transfer-encoding"))
      return problem(ProblemKind::kEncoding, "a body needs a Content-Length; transfer encodings are not taken");
    if (const std::string_view coding = request.header("content-encoding"); !coding.empty() && coding != "identity")
      return problem(ProblemKind::kEncoding, "bodies are taken as they are, not compressed");
    const bool takes_body = route.receive != nullptr || route.max_body > 0;
    if (takes_body && !request.content_length)
      return problem(ProblemKind::kLengthMissing, "a body needs a Content-Length");
    if (route.receive == nullptr && request.content_length.value_or(0) > route.max_body)
      return problem(ProblemKind::kTooLarge, fmt::format("at most {} bytes are taken here", route.max_body));
    if (const std::string_view expected = request.header("expect"); !expected.empty() && expected != "100-continue")
      return problem(ProblemKind::kMalformed, "only 100-continue may be expected");
    return std::nullopt;
  }

  net::awaitable<bool> answer(Parser& parser) {
    HttpRequest request = head_of(parser);
    served_.method = request.method;
    keep_alive_ = parser.get().keep_alive() && !shared_->draining.load();
    const std::string target(parser.get().target());
    const auto route = shared_->router.find(target, request);
    if (!route.ok()) {
      const HttpResponse& refusal = route.error();
      co_return co_await refuse(refusal);
    }
    served_.route = (*route)->pattern;
    const std::optional<HttpResponse> unfit = refusal_of_body(request, **route);
    if (unfit) co_return co_await refuse(*unfit);
    if ((*route)->receive == nullptr) {
      if (!co_await read_body(parser, request, nullptr)) co_return false;
      const auto handle = [&] { return (*route)->handle(request); };
      const HttpResponse made = co_await in_handler(handle);
      co_return co_await send(request, made);
    }
    std::unique_ptr<Reception> reception;
    HttpResponse refusal = failure_of_ours();
    const auto begin = [&]() -> HttpResponse {
      auto received = (*route)->receive(request);
      if (received.ok()) {
        reception = std::move(*received);
      } else {
        refusal = received.error();
      }
      return {};
    };
    co_await in_handler(begin);
    if (reception == nullptr) co_return co_await refuse(refusal);
    if (!co_await read_body(parser, request, reception.get())) co_return false;
    const auto finish = [&] { return reception->finish(); };
    const HttpResponse made = co_await in_handler(finish);
    co_return co_await send(request, made);
  }

  // A handler may wait: it has threads of its own. What it throws is our failure, told as such.
  template <class Body>
  net::awaitable<HttpResponse> in_handler(const Body& body) {
    const auto run = [&body]() -> net::awaitable<HttpResponse> {
      try {
        co_return body();
      } catch (const std::exception&) {
        co_return failure_of_ours();
      }
    };
    co_return co_await net::co_spawn(shared_->handlers, run, net::use_awaitable);
  }
  [[nodiscard]] static HttpResponse failure_of_ours() {
    return problem(ProblemKind::kInternal, "the provider failed; nothing was decided, try again later");
  }

  // The next byte must come before this: on the whole the rate is kept.
  [[nodiscard]] Steady::time_point due(Steady::time_point start, uint64_t done) const {
    const auto pace = std::chrono::milliseconds((done + kPiece / 4) * 1000 / limits().bytes_per_second);
    return start + limits().grace + pace;
  }

  // False where the connection ends, with or without an answer.
  net::awaitable<bool> read_body(Parser& parser, HttpRequest& request, Reception* reception) {
    const uint64_t length = request.content_length.value_or(0);
    if (length > 0 && request.header("expect") == "100-continue" && buffer_.size() == 0) {
      deadline(Steady::now() + limits().grace);
      const auto [failed, count] =
          co_await net::async_write(stream_, net::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")), kNoThrow);
      if (failed) co_return false;
    }
    const Steady::time_point start = Steady::now();
    std::vector<uint8_t> piece(std::min<uint64_t>(kPiece, length));
    while (!parser.is_done()) {
      deadline(due(start, served_.received));
      parser.get().body() = {piece.data(), piece.size(), true};
      auto [failed, count] = co_await http::async_read_some(stream_, buffer_, parser, kNoThrow);
      if (failed == http::error::need_buffer) failed = {};
      if (failed) co_return false;
      const size_t got = piece.size() - parser.get().body().size;
      served_.received += got;
      if (reception == nullptr) {
        request.body.append(reinterpret_cast<const char*>(piece.data()), got);
      } else if (!reception->write({piece.data(), got})) {
        const auto finish = [&] { return reception->finish(); };
        const HttpResponse refusal = co_await in_handler(finish);
        co_return co_await refuse(refusal);
      }
    }
    co_return true;
  }

  // An answer that ends the connection, since what follows on it is not known.
  net::awaitable<bool> refuse(const HttpResponse& response) {
    keep_alive_ = false;
    unread_ = true;
    const HttpRequest none;
    co_await send(none, response);
    co_return false;
  }

  net::awaitable<bool> send(const HttpRequest& request, const HttpResponse& response) {
    if (response.close || shared_->draining.load()) keep_alive_ = false;
    const uint64_t length = response.file ? response.file->size() : response.body.size();
    const std::string first = response_head(response, length, shared_->settings.headers, keep_alive_);
    const bool with_body = request.method != "HEAD" && response.status != 304 && response.status != 204;
    served_.status = response.status;
    const Steady::time_point start = Steady::now();
    bool sent = co_await write(start, first);
    std::vector<uint8_t> piece;
    for (uint64_t at = 0; sent && with_body && at < length; at += kPiece) {
      const size_t count = std::min<uint64_t>(kPiece, length - at);
      std::string_view text = std::string_view(response.body);
      if (response.file) {
        piece.resize(count);
        sent = response.file->read_at(at, piece).ok();
        text = {reinterpret_cast<const char*>(piece.data()), count};
      } else {
        text = text.substr(at, count);
      }
      if (!sent) break;
      sent = co_await write(start, text);
      served_.sent += count;
    }
    served_.took = std::chrono::duration_cast<std::chrono::microseconds>(Steady::now() - begun_);
    if (shared_->settings.observer) shared_->settings.observer(served_);
    co_return sent&& keep_alive_;
  }

  net::awaitable<bool> write(Steady::time_point start, std::string_view text) {
    deadline(due(start, served_.sent + text.size()));
    const auto [failed, count] = co_await net::async_write(stream_, net::buffer(text), kNoThrow);
    co_return !failed;
  }

  // Bytes that were not read would have the last answer thrown away on the way: they are read a while longer.
  net::awaitable<void> end() {
    beast::error_code ignored;
    deadline(Steady::now() + limits().linger);
    if constexpr (std::is_same_v<Stream, TlsStream>) co_await stream_.async_shutdown(kNoThrow);
    socket().socket().shutdown(net::ip::tcp::socket::shutdown_send, ignored);
    std::array<uint8_t, 4096> waste;
    while (unread_) {
      const auto [failed, count] = co_await socket().async_read_some(net::buffer(waste), kNoThrow);
      if (failed) break;
    }
    close();
  }

  std::shared_ptr<Shared> shared_;
  Stream stream_;
  beast::flat_buffer buffer_;
  Steady::time_point begun_;
  HttpServed served_;
  bool keep_alive_ = false;
  bool unread_ = false;  // more may come than was read
  bool idle_ = false;    // touched on the connection's strand only
};

}  // namespace zkapex::http_detail
