// A client of bytes: it says to a server on this machine whatever a test wants, as slowly as it wants.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <string>
#include <thread>

namespace zkapex {

class RawClient {
 public:
  explicit RawClient(uint16_t port) : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  RawClient(const RawClient&) = delete;
  RawClient& operator=(const RawClient&) = delete;
  ~RawClient() { ::close(socket_); }

  [[nodiscard]] bool connected() const { return connected_; }
  // False once the other side has closed.
  bool send(std::string_view text) {
    while (!text.empty()) {
      const ssize_t count = ::send(socket_, text.data(), text.size(), MSG_NOSIGNAL);
      if (count <= 0) return false;
      text.remove_prefix(static_cast<size_t>(count));
    }
    return true;
  }
  void finish_sending() { ::shutdown(socket_, SHUT_WR); }

  // What comes until the other side closes, or for so long.
  std::string read_all(std::chrono::milliseconds most = std::chrono::seconds(20)) {
    std::string out;
    const auto end = std::chrono::steady_clock::now() + most;
    while (read_some(out, end)) {
    }
    return out;
  }
  // One answer with a Content-Length; what follows it is kept for the next call.
  std::string read_answer() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    size_t head = kept_.npos, whole = 0;
    for (;;) {
      head = kept_.find("\r\n\r\n");
      if (head != kept_.npos) {
        const size_t field = kept_.find("Content-Length: ");
        whole = head + 4 + (field < head ? std::stoul(kept_.substr(field + 16)) : 0);
        if (kept_.size() >= whole) break;
      }
      if (!read_some(kept_, end)) return std::exchange(kept_, {});
    }
    std::string out = kept_.substr(0, whole);
    kept_.erase(0, whole);
    return out;
  }
  // The other side has closed, without sending more, within so long.
  bool is_closed(std::chrono::milliseconds most = std::chrono::seconds(20)) {
    std::string more;
    return !read_some(more, std::chrono::steady_clock::now() + most) && ended_;
  }

 private:
  bool read_some(std::string& out, std::chrono::steady_clock::time_point end) {
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - std::chrono::steady_clock::now());
    pollfd wait{socket_, POLLIN, 0};
    if (left.count() <= 0 || ::poll(&wait, 1, static_cast<int>(left.count())) <= 0) return false;
    char piece[4096];
    const ssize_t count = ::recv(socket_, piece, sizeof piece, 0);
    ended_ = count <= 0;
    if (ended_) return false;
    out.append(piece, static_cast<size_t>(count));
    return true;
  }

  int socket_;
  bool connected_ = false, ended_ = false;
  std::string kept_;
};

inline std::string status_line(const std::string& answer) { return answer.substr(0, answer.find("\r\n")); }
inline std::string body_of(const std::string& answer) {
  const size_t head = answer.find("\r\n\r\n");
  return head == answer.npos ? std::string() : answer.substr(head + 4);
}

}  // namespace zkapex
