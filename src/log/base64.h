// Base64 of RFC 4648, section 4: with padding, on one line.
#pragma once

#include "base/bytes.h"

namespace zkapex {

[[nodiscard]] std::string to_base64(ByteView bytes);
// Accepts exactly what to_base64 writes: no other alphabet, no missing padding, no stray bits, no white space.
[[nodiscard]] Result<Bytes> from_base64(std::string_view text);

}  // namespace zkapex
