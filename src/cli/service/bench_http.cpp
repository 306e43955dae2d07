#include "cli/service/bench_http.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

namespace zkapex::cli {

BenchConnection::~BenchConnection() {
  if (socket_ >= 0) ::close(socket_);
}

Status BenchConnection::connect() {
  if (socket_ >= 0) return Done{};
  socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port_);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const int yes = 1;
  const timeval patience{.tv_sec = 60, .tv_usec = 0};
  ::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  if (::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    return error("cannot connect to port {}", port_);
  return Done{};
}

Result<BenchReply> BenchConnection::send(std::string_view method, std::string_view path, std::string_view body) {
  ZKAPEX_CHECK(connect());
  std::string request = fmt::format("{} {} HTTP/1.1\r\nHost: localhost\r\n", method, path);
  if (method != "GET") request += fmt::format("Content-Length: {}\r\n", body.size());
  request += "\r\n";
  request += body;
  for (std::string_view left = request; !left.empty();) {
    const ssize_t count = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    if (count <= 0) return error("the service closed the connection");
    left.remove_prefix(static_cast<size_t>(count));
  }
  constexpr std::string_view kLength = "Content-Length: ";
  for (;;) {
    const size_t head = kept_.find("\r\n\r\n");
    if (head != kept_.npos) {
      size_t length = 0;
      const size_t field = kept_.find(kLength);
      if (field < head) std::from_chars(kept_.data() + field + kLength.size(), kept_.data() + head, length);
      if (kept_.size() >= head + 4 + length) {
        BenchReply reply;
        std::from_chars(kept_.data() + 9, kept_.data() + 12, reply.status);
        reply.body = kept_.substr(head + 4, length);
        kept_.erase(0, head + 4 + length);
        return reply;
      }
    }
    char piece[65'536];
    const ssize_t count = ::recv(socket_, piece, sizeof piece, 0);
    if (count <= 0) return error("the service gave no answer to {} {}", method, path);
    kept_.append(piece, static_cast<size_t>(count));
  }
}

void Latencies::add(const std::string& name, double seconds) {
  const std::lock_guard lock(mutex_);
  seconds_[name].push_back(seconds);
}

std::map<std::string, Latencies::Figures> Latencies::figures() const {
  const std::lock_guard lock(mutex_);
  std::map<std::string, Figures> out;
  for (const auto& [name, measured] : seconds_) {
    std::vector<double> sorted = measured;
    std::ranges::sort(sorted);
    const auto at = [&](double part) {
      return sorted[std::min(sorted.size() - 1, static_cast<size_t>(part * static_cast<double>(sorted.size())))];
    };
    out[name] = {sorted.size(), at(0.5), at(0.99)};
  }
  return out;
}

}  // namespace zkapex::cli
