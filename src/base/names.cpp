#include "base/names.h"

#include <cstdint>

#include "base/hash.h"

namespace zkapex {

namespace {

// The code point that begins at `at`, which is moved behind it; negative where the bytes are no UTF-8: stray or missing
// continuation bytes, longer forms than needed, surrogates, beyond U+10FFFF.
int32_t next_code_point(std::string_view text, size_t& at) {
  const auto byte = [&](size_t k) { return static_cast<uint8_t>(text[k]); };
  const uint8_t first = byte(at);
  const size_t length = first < 0x80 ? 1 : first >= 0xc2 && first < 0xe0 ? 2 : first >= 0xe0 && first < 0xf0 ? 3 : 4;
  if ((first >= 0x80 && first < 0xc2) || first > 0xf4 || at + length > text.size()) return -1;
  int32_t value = length == 1 ? first : first & (0x7f >> length);
  for (size_t k = 1; k < length; ++k) {
    if ((byte(at + k) & 0xc0) != 0x80) return -1;
    value = value << 6 | (byte(at + k) & 0x3f);
  }
  constexpr int32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  at += length;
  return value < kLeast[length] || value > 0x10ffff || (value >= 0xd800 && value < 0xe000) ? -1 : value;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (size_t at = 0; at < text.size();) {
    if (next_code_point(text, at) < 0) return false;
  }
  return true;
}

Status check_name(std::string_view name, std::string_view what) {
  if (name.empty() || name.size() > kMaxName) return error("{} has 1 to {} bytes, not {}", what, kMaxName, name.size());
  for (size_t at = 0; at < name.size();) {
    const int32_t code = next_code_point(name, at);
    if (code < 0) return error("{} must be valid UTF-8", what);
    if (code < 0x20 || (code >= 0x7f && code < 0xa0)) return error("{} has no control characters", what);
  }
  return Done{};
}

std::string file_name_of(std::string_view name) {
  constexpr size_t kLongest = 200;  // of the 255 bytes that file systems take: temporary names are longer
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  };
  std::string out;
  for (const char c : name) {
    if (plain(c) || (c == '.' && !out.empty())) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<uint8_t>(c));
    }
  }
  return out.empty() || out.size() > kLongest ? fmt::format("={}", to_hex(sha256(view(name)))) : out;
}

std::string in_quotes(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += {'\\', c};
    } else if (c >= 0x20 && c < 0x7f) {
      out += c;
    } else {
      out += fmt::format("\\x{:02x}", static_cast<uint8_t>(c));
    }
  }
  return out + '"';
}

}  // namespace zkapex
