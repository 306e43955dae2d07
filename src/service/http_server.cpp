#include "service/http_server.h"

#include <sys/stat.h>

#include <list>
#include <mutex>
#include <thread>

#include "service/http_connection.h"

namespace zkapex {

namespace {

using namespace http_detail;
using net::ip::tcp;

// In one call, to a connection that there is no room for; nothing waits for it.
constexpr std::string_view kFull =
    "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 5\r\nConnection: close\r\n\r\n";

Result<std::unique_ptr<net::ssl::context>> tls_context(const HttpTls& tls) {
  struct stat info {};
  if (::stat(tls.key.c_str(), &info) != 0) return file_failure("read", tls.key, errno);
  if ((info.st_mode & 077) != 0)
    return error("{} may be read by others than its owner: chmod 600 it first", tls.key.string());
  auto context = std::make_unique<net::ssl::context>(net::ssl::context::tls_server);
  boost::system::error_code failed;
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
  context->use_certificate_chain_file(tls.certificate.string(), failed);
  if (failed) return error("cannot use the certificate {}: {}", tls.certificate.string(), failed.message());
  context->use_private_key_file(tls.key.string(), net::ssl::context::pem, failed);
  if (failed) return error("cannot use the key {}: {}", tls.key.string(), failed.message());
  return context;
}

}  // namespace

struct HttpServer::State {
  State(const Router& router, HttpSettings settings)
      : shared(std::make_shared<Shared>(router, std::move(settings))), acceptor(net::make_strand(context)) {}

  ~State() {
    for (const auto& connection : living()) connection->cut();
    // Handlers first: they wake coroutines that the context must still run.
    shared->handlers.join();
    stop_accepting();
    context.stop();
    for (std::thread& thread : threads) thread.join();
  }

  Status listen() {
    const HttpListener& where = shared->settings.listener;
    if (where.tls) {
      ZKAPEX_TRY(tls, tls_context(*where.tls));
    }
    boost::system::error_code failed;
    const auto address = net::ip::make_address(where.address, failed);
    if (failed) return error("cannot listen on '{}': it is no address of numbers", where.address);
    const tcp::endpoint endpoint(address, where.port);
    acceptor.open(endpoint.protocol(), failed);
    if (!failed) acceptor.set_option(tcp::acceptor::reuse_address(true), failed);
    if (!failed) acceptor.bind(endpoint, failed);
    if (!failed) acceptor.listen(net::socket_base::max_listen_connections, failed);
    if (failed) return error("cannot listen on {} port {}: {}", where.address, where.port, failed.message());
    port = acceptor.local_endpoint(failed).port();
    net::co_spawn(
        acceptor.get_executor(), [this] { return accept_all(); }, net::detached);
    for (int k = 0; k < 2; ++k) threads.emplace_back([this] { context.run(); });
    return Done{};
  }

  net::awaitable<void> accept_all() {
    while (acceptor.is_open()) {
      auto [failed, socket] = co_await acceptor.async_accept(net::make_strand(context), kNoThrow);
      if (failed == net::error::operation_aborted) break;
      if (failed) {  // no descriptors left: some will be
        net::steady_timer pause(acceptor.get_executor(), std::chrono::milliseconds(50));
        co_await pause.async_wait(kNoThrow);
        continue;
      }
      admit(std::move(socket));
    }
  }

  void admit(tcp::socket socket) {
    boost::system::error_code ignored;
    if (shared->connections.load() >= shared->settings.limits.connections) {
      socket.non_blocking(true, ignored);
      if (!tls) socket.send(net::buffer(kFull), 0, ignored);
      return;
    }
    socket.set_option(tcp::no_delay(true), ignored);
    if (tls) {
      keep(std::make_shared<Connection<TlsStream>>(shared, PlainStream(std::move(socket)), *tls));
    } else {
      keep(std::make_shared<Connection<PlainStream>>(shared, std::move(socket)));
    }
  }

  template <class C>
  void keep(const std::shared_ptr<C>& connection) {
    {
      const std::lock_guard lock(mutex);
      alive.remove_if([](const auto& other) { return other.expired(); });
      alive.push_back(connection);
    }
    connection->start();
  }

  std::vector<std::shared_ptr<ConnectionBase>> living() {
    const std::lock_guard lock(mutex);
    std::vector<std::shared_ptr<ConnectionBase>> out;
    for (const auto& weak : alive) {
      if (auto connection = weak.lock()) out.push_back(std::move(connection));
    }
    return out;
  }

  void stop_accepting() {
    net::post(acceptor.get_executor(), [this] {
      boost::system::error_code ignored;
      acceptor.close(ignored);
    });
  }

  std::shared_ptr<Shared> shared;
  std::unique_ptr<net::ssl::context> tls;
  net::io_context context;
  tcp::acceptor acceptor;
  uint16_t port = 0;
  std::vector<std::thread> threads;
  std::mutex mutex;
  std::list<std::weak_ptr<ConnectionBase>> alive;
};

HttpServer::HttpServer(std::unique_ptr<State> state) : state_(std::move(state)) {}
HttpServer::HttpServer(HttpServer&& other) noexcept = default;
HttpServer& HttpServer::operator=(HttpServer&& other) noexcept = default;
HttpServer::~HttpServer() = default;

Result<HttpServer> HttpServer::start(const Router& router, HttpSettings settings) {
  auto state = std::make_unique<State>(router, std::move(settings));
  ZKAPEX_CHECK(state->listen());
  return HttpServer(std::move(state));
}

uint16_t HttpServer::port() const { return state_->port; }
size_t HttpServer::connections() const { return state_->shared->connections.load(); }

bool HttpServer::drain(std::chrono::milliseconds patience) {
  state_->shared->draining.store(true);
  state_->stop_accepting();
  const auto end = std::chrono::steady_clock::now() + patience;
  while (connections() > 0 && std::chrono::steady_clock::now() < end) {
    // Again and again: some were being accepted just then.
    for (const auto& connection : state_->living()) connection->close_if_idle();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  const bool all = connections() == 0;
  for (const auto& connection : state_->living()) connection->cut();
  return all;
}

}  // namespace zkapex
