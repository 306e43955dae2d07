#include "service/metrics.h"

#include <cmath>

namespace zkapex {

namespace {

std::string label_value(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out.push_back('\\');
    if (c == '\n') {
      out += "\\n";
    } else {
      out.push_back(c);
    }
  }
  return out;
}

// What strangers write there must not make new series.
std::string known_method(const std::string& method) {
  for (const char* known : {"GET", "HEAD", "POST", "PUT"}) {
    if (method == known) return method;
  }
  return "other";
}

}  // namespace

void MetricsPage::begin(std::string_view name, std::string_view type, std::string_view help) {
  name_ = name;
  text_ += fmt::format("# HELP {} {}\n# TYPE {} {}\n", name, help, name, type);
}

void MetricsPage::sample(const Labels& labels, double value, std::string_view suffix) {
  std::string list;
  for (const auto& [label, text] : labels)
    list += fmt::format("{}{}=\"{}\"", list.empty() ? "{" : ",", label, label_value(text));
  if (!list.empty()) list += "}";
  const bool whole = std::trunc(value) == value && std::abs(value) < 9e15;
  text_ += fmt::format("{}{}{} {}\n", name_, suffix, list,
                       whole ? fmt::format("{}", static_cast<int64_t>(value)) : fmt::format("{:.9g}", value));
}

void HttpMetrics::observe(const HttpServed& served) {
  const std::string route = served.route.empty() ? "none" : served.route;
  const double seconds = std::chrono::duration<double>(served.took).count();
  const std::lock_guard lock(mutex_);
  ++requests_[{route, known_method(served.method), served.status}];
  Times& times = times_[route];
  size_t bucket = 0;
  while (bucket < kBounds.size() && seconds > kBounds[bucket]) ++bucket;
  ++times.counts[bucket];
  times.sum += seconds;
  received_ += served.received;
  sent_ += served.sent;
}

void HttpMetrics::write(MetricsPage& page) const {
  const std::lock_guard lock(mutex_);
  page.begin("zkapex_http_requests_total", "counter", "Answers sent, by route, method and status.");
  for (const auto& [key, count] : requests_) {
    const auto& [route, method, status] = key;
    page.sample({{"route", route}, {"method", method}, {"status", std::to_string(status)}}, static_cast<double>(count));
  }
  page.begin("zkapex_http_request_duration_seconds", "histogram", "From the first byte of a request to the last sent.");
  for (const auto& [route, times] : times_) {
    uint64_t below = 0;
    for (size_t k = 0; k < kBounds.size(); ++k) {
      below += times.counts[k];
      page.sample({{"route", route}, {"le", fmt::format("{}", kBounds[k])}}, static_cast<double>(below), "_bucket");
    }
    below += times.counts.back();
    page.sample({{"route", route}, {"le", "+Inf"}}, static_cast<double>(below), "_bucket");
    page.sample({{"route", route}}, times.sum, "_sum");
    page.sample({{"route", route}}, static_cast<double>(below), "_count");
  }
  page.begin("zkapex_http_received_bytes_total", "counter", "Bytes of bodies that were received.");
  page.sample({}, static_cast<double>(received_));
  page.begin("zkapex_http_sent_bytes_total", "counter", "Bytes of bodies that were sent.");
  page.sample({}, static_cast<double>(sent_));
}

}  // namespace zkapex
