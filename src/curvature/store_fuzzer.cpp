// Arbitrary bytes as the header of a store: never a crash, one encoding each.
#include <algorithm>
#include <cstdlib>

#include "curvature/store.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using zkapex::StoreHeader;
  zkapex::Bytes bytes(data, data + size);
  (void)StoreHeader::parse(bytes);
  bytes.resize(StoreHeader::kBytes);  // with a right digest, so that the fields behind it are reached
  const auto digest = zkapex::sha256(zkapex::ByteView(bytes).first(StoreHeader::kBytes - 32));
  std::copy(digest.begin(), digest.end(), bytes.end() - 32);
  if (const auto header = StoreHeader::parse(bytes); header.ok() && header->serialize() != bytes) std::abort();
  return 0;
}
