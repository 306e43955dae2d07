// Numbers for Prometheus, in its text format.
#pragma once

#include <map>
#include <mutex>

#include "service/http_server.h"

namespace zkapex {

// Builds a page of metrics. Samples of one name follow each other: begin() them once, then sample().
class MetricsPage {
 public:
  using Labels = std::vector<std::pair<std::string, std::string>>;

  // `type` is "counter", "gauge" or "histogram".
  void begin(std::string_view name, std::string_view type, std::string_view help);
  void sample(const Labels& labels, double value, std::string_view suffix = {});
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string name_, text_;
};

// What an HTTP server did. From any thread.
class HttpMetrics {
 public:
  void observe(const HttpServed& served);
  void write(MetricsPage& page) const;

 private:
  static constexpr std::array kBounds = {0.001, 0.0025, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 60.0};
  struct Times {
    std::array<uint64_t, kBounds.size() + 1> counts{};  // the last: longer than all bounds
    double sum = 0;
  };

  mutable std::mutex mutex_;
  std::map<std::tuple<std::string, std::string, unsigned>, uint64_t> requests_;  // route, method, status
  std::map<std::string, Times> times_;                                           // by route
  uint64_t received_ = 0, sent_ = 0;
};

}  // namespace zkapex
