// A client that keeps its connection, for measuring: one request after the other, over loopback.
#pragma once

#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "base/bytes.h"

namespace zkapex::cli {

struct BenchReply {
  unsigned status = 0;
  std::string body;
};

class BenchConnection {
 public:
  explicit BenchConnection(uint16_t port) : port_(port) {}
  BenchConnection(const BenchConnection&) = delete;
  BenchConnection& operator=(const BenchConnection&) = delete;
  ~BenchConnection();

  [[nodiscard]] Result<BenchReply> send(std::string_view method, std::string_view path, std::string_view body);

 private:
  [[nodiscard]] Status connect();

  uint16_t port_;
  int socket_ = -1;
  std::string kept_;
};

// Seconds that requests took, by a name. From any thread.
class Latencies {
 public:
  void add(const std::string& name, double seconds);
  struct Figures {
    size_t count = 0;
    double p50 = 0, p99 = 0;
  };
  [[nodiscard]] std::map<std::string, Figures> figures() const;

 private:
  mutable std::mutex mutex_;
  std::map<std::string, std::vector<double>> seconds_;
};

}  // namespace zkapex::cli
