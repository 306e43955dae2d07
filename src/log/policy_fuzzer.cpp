// Policy files: what is accepted is written in one form, which means the same.
#include <cstdlib>

#include "log/policy.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zkapex;
  const auto policy = Policy::parse({reinterpret_cast<const char*>(data), size});
  if (!policy.ok()) return 0;
  const std::string text = policy->text();
  const auto again = Policy::parse(text);
  if (!again.ok() || again->text() != text || again->enough({}) != policy->enough({})) std::abort();
  return 0;
}
