// Arbitrary bytes as the index of a sharded checkpoint: never a crash, and never a name that leaves its folder.
#include <cstdlib>

#include "weights/checkpoint.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto map = zkapex::parse_shard_index({data, size});
  if (!map.ok()) return 0;
  for (const auto& [tensor, shard] : *map)
    if (shard.empty() || shard == ".." || shard.find('/') != std::string::npos) std::abort();
  return 0;
}
