// Arbitrary bytes as a split file: never a crash, and what is accepted is disjoint where it must be.
#include <cstdlib>
#include <string_view>

#include "data/documents.h"
#include "data/splits.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto document = zkapex::parse_json({reinterpret_cast<const char*>(data), size});
  if (!document.ok()) return 0;
  const auto splits = zkapex::Splits::parse(*document);
  if (splits.ok() && !splits->check().ok()) std::abort();
  return 0;
}
