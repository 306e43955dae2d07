// Decoding takes exactly what libsodium takes (but for bit 255, which libsodium up to 1.0.18 ignores) and undoes
// encoding; the one-way map agrees with libsodium.
#include <sodium.h>

#include <algorithm>
#include <cstdlib>

#include "algebra/point.h"

using zkapex::ByteView;
using zkapex::Point;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const ByteView input(data, size);
  const auto decoded = Point::decode(input);
  if (size != 32) require(!decoded.ok());
  if (size == 32 && data[31] < 0x80) require(decoded.ok() == (crypto_core_ristretto255_is_valid_point(data) == 1));
  if (decoded.ok()) require(std::ranges::equal(decoded->encode(), input));
  if (size == 64) {
    std::array<uint8_t, 32> expected;
    require(crypto_core_ristretto255_from_hash(expected.data(), data) == 0);
    require(Point::from_uniform_bytes(input.first<64>()).encode() == expected);
  }
  return 0;
}
