#include "log/base64.h"

#include <sodium/utils.h>

#include <algorithm>

namespace zkapex {

std::string to_base64(ByteView bytes) {
  std::string out(sodium_base64_ENCODED_LEN(bytes.size(), sodium_base64_VARIANT_ORIGINAL), '\0');
  sodium_bin2base64(out.data(), out.size(), bytes.data(), bytes.size(), sodium_base64_VARIANT_ORIGINAL);
  out.pop_back();  // the zero at the end
  return out;
}

Result<Bytes> from_base64(std::string_view text) {
  // libsodium takes 0xaf for '/' where char is signed.
  const bool ascii = std::ranges::all_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
  Bytes out(text.size() / 4 * 3 + 1);  // never empty: libsodium wants an address
  size_t length = 0;
  const char* end = nullptr;
  if (!ascii ||
      sodium_base642bin(out.data(), out.size(), text.data(), text.size(), nullptr, &length, &end,
                        sodium_base64_VARIANT_ORIGINAL) != 0 ||
      end != text.data() + text.size())
    return error("this is no base64 with padding, on one line");
  out.resize(length);
  return out;
}

}  // namespace zkapex
