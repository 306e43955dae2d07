#include "base/machine.h"

#include <unistd.h>

#include <fstream>
#include <iterator>

#include "base/processors.h"

namespace zkapex {

std::string cpu_model(const std::string& cpuinfo) {
  const size_t key = cpuinfo.find("model name");
  if (key == std::string::npos) return {};
  const size_t colon = cpuinfo.find(':', key), end = cpuinfo.find('\n', key);
  if (colon == std::string::npos || colon > end) return {};
  const size_t first = cpuinfo.find_first_not_of(" \t", colon + 1);
  if (first == std::string::npos || first >= end) return {};
  return cpuinfo.substr(first, end == std::string::npos ? end : end - first);
}

nlohmann::ordered_json machine_description() {
  nlohmann::ordered_json out = nlohmann::ordered_json::object();
  std::ifstream cpuinfo("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(cpuinfo)), std::istreambuf_iterator<char>());
  if (const std::string model = cpu_model(text); !model.empty()) out["cpu"] = model;
  out["processors"] = usable_processors();
  const long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGE_SIZE);
  if (pages > 0 && page > 0) out["memory_bytes"] = static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
  return out;
}

}  // namespace zkapex
