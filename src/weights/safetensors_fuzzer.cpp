// Arbitrary bytes as a safetensors file: never a crash, and what is accepted keeps the promises of the header.
#include <cstdlib>

#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto header = zkapex::parse_safetensors({data, size});
  if (!header.ok()) return 0;
  uint64_t next = header->tensors.empty() ? size : header->tensors.front().begin;
  for (const auto& tensor : header->tensors) {
    const auto bytes = zkapex::byte_count(tensor.info);
    if (!bytes.ok() || tensor.begin != next || tensor.end - tensor.begin != *bytes) std::abort();
    next = tensor.end;
  }
  if (next != size) std::abort();
  return 0;
}
