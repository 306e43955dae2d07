// Seconds that parts of a work took.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace zkapex {

struct Timings {
  std::vector<std::pair<std::string, double>> parts;  // by name, in order

  [[nodiscard]] double total() const {
    double out = 0;
    for (const auto& [name, seconds] : parts) out += seconds;
    return out;
  }
  // 0 for a part that there is not.
  [[nodiscard]] double of(std::string_view part) const {
    double out = 0;
    for (const auto& [name, seconds] : parts) out += name == part ? seconds : 0;
    return out;
  }
};

class Stopwatch {
 public:
  // Since the last lap, or since the beginning.
  [[nodiscard]] double seconds() const { return std::chrono::duration<double>(Clock::now() - last_).count(); }
  double lap() {
    const double out = seconds();
    last_ = Clock::now();
    return out;
  }
  void lap(Timings& out, std::string name) { out.parts.emplace_back(std::move(name), lap()); }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point last_ = Clock::now();
};

}  // namespace zkapex
