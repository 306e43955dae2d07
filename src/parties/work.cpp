#include "parties/work.h"

namespace zkapex {

Generators load_generators(size_t count, const WorkSettings& settings) {
  constexpr size_t kUnit = size_t{1} << 14;
  if (count <= kUnit || settings.cache.empty()) return Generators::derive(count, *settings.pool);
  return Generators::cached((count + kUnit - 1) / kUnit * kUnit, settings.cache, *settings.pool);
}

}  // namespace zkapex
