// ByteReader and from_hex on arbitrary bytes: never a read out of bounds, and what is accepted encodes back to itself.
#include <cstdlib>

#include "base/bytes.h"

namespace zkapex {
namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

void hex_round_trip(ByteView input) {
  const std::string text(input.begin(), input.end());
  const auto bytes = from_hex(text);
  if (!bytes.ok()) return;
  std::string lower = text;
  for (char& c : lower) c = (c >= 'A' && c <= 'F') ? static_cast<char>(c - 'A' + 'a') : c;
  require(to_hex(*bytes) == lower);
}

// The first bytes choose what is read; reading stops at the first error.
void encoding_round_trip(ByteView input) {
  const size_t steps = std::min<size_t>(16, input.size() / 2);
  const ByteView data = input.subspan(steps);
  ByteReader in(data);
  ByteWriter out;
  for (size_t k = 0; k < steps; ++k) {
    const size_t before = in.left();
    bool ok = false;
    switch (input[k] % 6) {
      case 0:
        if (const auto v = in.u8(); (ok = v.ok())) out.u8(*v);
        break;
      case 1:
        if (const auto v = in.u16(); (ok = v.ok())) out.u16(*v);
        break;
      case 2:
        if (const auto v = in.u32(); (ok = v.ok())) out.u32(*v);
        break;
      case 3:
        if (const auto v = in.u64(); (ok = v.ok())) out.u64(*v);
        break;
      case 4:
        if (const auto v = in.sized(64); (ok = v.ok())) out.sized(*v);
        break;
      default:
        if (const auto v = in.raw(input[k] / 6U); (ok = v.ok())) out.raw(*v);
    }
    require(in.left() <= before);
    if (!ok) return;
  }
  require(out.bytes().size() + in.left() == data.size());
  require(std::equal(out.bytes().begin(), out.bytes().end(), data.begin()));
  require(in.finish().ok() == (in.left() == 0));
}

}  // namespace
}  // namespace zkapex

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  zkapex::hex_round_trip({data, size});
  zkapex::encoding_round_trip({data, size});
  return 0;
}
