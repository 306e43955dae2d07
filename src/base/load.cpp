#include "base/load.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace zkapex {

std::optional<unsigned> runnable_threads(std::string_view loadavg) {
  // "0.20 0.18 0.12 3/80 11206": three averages, then runnable/all
  for (int k = 0; k < 3; ++k) {
    const size_t space = loadavg.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    loadavg.remove_prefix(space + 1);
  }
  unsigned out = 0;
  const auto [end, failed] = std::from_chars(loadavg.data(), loadavg.data() + loadavg.size(), out);
  if (failed != std::errc() || end == loadavg.data() + loadavg.size() || *end != '/') return std::nullopt;
  return out;
}

unsigned free_processors() {
  const unsigned processors = std::max(1U, std::thread::hardware_concurrency());
  std::array<unsigned, 5> samples;
  for (unsigned& sample : samples) {
    std::string text;
    std::getline(std::ifstream("/proc/loadavg"), text);
    const std::optional<unsigned> runnable = runnable_threads(text);
    if (!runnable) return processors;
    sample = *runnable;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ranges::nth_element(samples, samples.begin() + samples.size() / 2);
  const unsigned others = std::max(1U, samples[samples.size() / 2]) - 1;  // this thread is one of them
  return processors - std::min(others, processors - 1);
}

}  // namespace zkapex
