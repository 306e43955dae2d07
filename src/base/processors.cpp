#include "base/processors.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <fstream>
#include <string>
#include <thread>

namespace zkapex {

namespace {

std::string first_line(const std::string& path) {
  std::string out;
  std::getline(std::ifstream(path), out);
  return out;
}

// A number at the front of the text, which is taken off, with what comes before the next one.
std::optional<uint64_t> take_number(std::string_view& text) {
  uint64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (failed != std::errc()) return std::nullopt;
  text.remove_prefix(static_cast<size_t>(end - text.data()));
  return out;
}

// std::thread::hardware_concurrency() counts those of the machine, with glibc 2.35 and later.
unsigned allowed_processors() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) == 0 && CPU_COUNT(&allowed) > 0)
    return static_cast<unsigned>(CPU_COUNT(&allowed));
  return std::max(1U, std::thread::hardware_concurrency());
}

// This process's control group and those around it, version 2: "0::/outer/inner".
std::optional<unsigned> smallest_quota() {
  std::ifstream groups("/proc/self/cgroup");
  std::optional<unsigned> out;
  for (std::string line; std::getline(groups, line);) {
    if (!line.starts_with("0::/")) continue;
    for (std::string group = line.substr(3);; group.resize(group.rfind('/'))) {
      const auto quota = processors_of_quota(first_line("/sys/fs/cgroup" + group + "/cpu.max"));
      if (quota) out = std::min(*quota, out.value_or(*quota));
      if (group.empty()) break;
    }
  }
  return out;
}

}  // namespace

std::optional<unsigned> processors_of_quota(std::string_view cpu_max) {
  const std::optional<uint64_t> quota = take_number(cpu_max);  // microseconds in each period; "max": no limit
  if (!quota || *quota == 0 || !cpu_max.starts_with(' ')) return std::nullopt;
  cpu_max.remove_prefix(1);
  const std::optional<uint64_t> period = take_number(cpu_max);
  if (!period || *period == 0) return std::nullopt;
  return static_cast<unsigned>(std::clamp<uint64_t>((*quota - 1) / *period + 1, 1, 1U << 16));
}

unsigned usable_processors() {
  const unsigned allowed = allowed_processors();
  return std::min(allowed, smallest_quota().value_or(allowed));
}

std::optional<unsigned> runnable_threads(std::string_view loadavg) {
  // "0.20 0.18 0.12 3/80 11206": three averages, then runnable/all
  for (int k = 0; k < 3; ++k) {
    const size_t space = loadavg.find(' ');
    if (space == std::string_view::npos) return std::nullopt;
    loadavg.remove_prefix(space + 1);
  }
  const std::optional<uint64_t> out = take_number(loadavg);
  if (!out || *out > 1U << 31 || !loadavg.starts_with('/')) return std::nullopt;
  return static_cast<unsigned>(*out);
}

unsigned free_processors() {
  const unsigned usable = usable_processors(), all = std::max(usable, std::thread::hardware_concurrency());
  std::array<unsigned, 5> samples;
  for (unsigned& sample : samples) {
    const std::optional<unsigned> runnable = runnable_threads(first_line("/proc/loadavg"));
    if (!runnable) return usable;
    sample = *runnable;
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  std::ranges::nth_element(samples, samples.begin() + samples.size() / 2);
  const unsigned others = std::max(1U, samples[samples.size() / 2]) - 1;  // this thread is one of them
  return std::clamp(all - std::min(others, all), 1U, usable);
}

}  // namespace zkapex
