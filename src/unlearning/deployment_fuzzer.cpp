// Arbitrary bytes as a deployment file, and as the content of one with a right digest: never a crash, one encoding
// each.
#include <cstdlib>

#include "unlearning/deployment.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const zkapex::ByteView input(data, size);
  if (const auto parsed = zkapex::Deployment::parse(input); parsed.ok() && parsed->serialize().size() != size)
    std::abort();
  const zkapex::Bytes framed = zkapex::frame(zkapex::Deployment::kKind, input);
  if (const auto parsed = zkapex::Deployment::parse(framed); parsed.ok() && parsed->serialize() != framed) std::abort();
  return 0;
}
