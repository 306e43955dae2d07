// Receipts and bundles of entries from strangers: what is accepted is written back to the same bytes.
#include <cstdlib>

#include "log/receipt.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace zkapex;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto receipt = Receipt::parse(text); receipt.ok()) require(receipt->encode() == text);
  if (const auto name = TileName::parse(text); name.ok()) require(name->path() == text);
  if (size == 0) return 0;
  const uint64_t width = 1 + data[0] % kTileWidth;
  const ByteView tile(data + 1, size - 1);
  if (const auto entries = decode_entries(tile, width); entries.ok()) {
    require(entries->size() == width);
    const auto again = encode_entries(*entries);
    require(again.ok() && std::equal(again->begin(), again->end(), tile.begin(), tile.end()));
  }
  return 0;
}
