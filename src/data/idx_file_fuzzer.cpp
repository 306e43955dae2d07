// Arbitrary bytes as an IDX file: never a crash, and what is accepted has as many bytes as its shape says.
#include <cstdlib>

#include "data/idx_file.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto array = zkapex::parse_idx({data, size});
  if (!array.ok()) return 0;
  uint64_t count = 1;
  for (const int64_t side : array->shape) count *= static_cast<uint64_t>(side);
  if (count != array->values.size()) std::abort();
  return 0;
}
