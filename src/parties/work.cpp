#include "parties/work.h"

#include <cstdlib>

namespace zkapex {

namespace {

Path from_environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? Path() : Path(value);
}

}  // namespace

Path cache_folder() {
  if (Path path = from_environment("ZKAPEX_CACHE"); !path.empty()) return path;
  if (const Path path = from_environment("XDG_CACHE_HOME"); !path.empty()) return path / "zkapex";
  if (const Path path = from_environment("HOME"); !path.empty()) return path / ".cache" / "zkapex";
  return {};
}

WorkProgress::WorkProgress(const WorkSettings& settings, std::string label, std::string unit, uint64_t total)
    : observe_(settings.observe),
      label_(label),
      total_(total),
      shown_(settings.progress, label, std::move(unit), total) {}

Status WorkProgress::advance(uint64_t count) {
  shown_.advance(count);
  done_ += count;
  return observe_ ? observe_(label_, done_, total_) : Done{};
}

Generators load_generators(size_t count, const WorkSettings& settings) {
  constexpr size_t kUnit = size_t{1} << 14;
  if (count <= kUnit || settings.cache.empty()) return Generators::derive(count, *settings.pool);
  return Generators::cached((count + kUnit - 1) / kUnit * kUnit, settings.cache, *settings.pool);
}

}  // namespace zkapex
