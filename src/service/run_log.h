// What a running service tells its operator: a line an event, as text or as JSON. No addresses of clients, no names.
#pragma once

#include <cstdio>
#include <mutex>

#include "base/json.h"
#include "log/time.h"

namespace zkapex {

class RunLog {
 public:
  RunLog(std::FILE* out, bool json, Clock clock) : out_(out), json_(json), clock_(std::move(clock)) {}

  // From any thread; one call is one line. `level` is "info", "warning" or "error".
  void write(std::string_view level, std::string_view event,
             const nlohmann::ordered_json& fields = nlohmann::ordered_json::object());

 private:
  std::FILE* out_;
  bool json_;
  Clock clock_;
  std::mutex mutex_;
};

}  // namespace zkapex
