#include "base/random.h"

#include <sodium/core.h>
#include <sodium/randombytes.h>

namespace zkapex {

Status random_bytes(std::span<uint8_t> out) {
  // libsodium opens its source of randomness here. It may be called again and from several threads.
  static const bool ready = sodium_init() >= 0;
  if (!ready) return error("the operating system gives no randomness (getrandom and /dev/urandom both fail)");
  if (!out.empty()) randombytes_buf(out.data(), out.size());
  return Done{};
}

}  // namespace zkapex
