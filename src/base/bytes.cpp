#include "base/bytes.h"

#include <cassert>

namespace zkapex {

std::string to_hex(ByteView bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  out.reserve(2 * bytes.size());
  for (uint8_t b : bytes) {
    out.push_back(kDigits[b >> 4]);
    out.push_back(kDigits[b & 15]);
  }
  return out;
}

Result<Bytes> from_hex(std::string_view text) {
  const auto digit = [](char c) -> int {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
  };
  if (text.size() % 2 != 0) return error("hexadecimal text has an odd number of digits ({})", text.size());
  Bytes out;
  out.reserve(text.size() / 2);
  for (size_t k = 0; k < text.size(); k += 2) {
    const int high = digit(text[k]), low = digit(text[k + 1]);
    if (high < 0 || low < 0) return error("not a hexadecimal digit at position {}", high < 0 ? k : k + 1);
    out.push_back(static_cast<uint8_t>(16 * high + low));
  }
  return out;
}

void ByteWriter::sized(ByteView bytes) {
  assert(bytes.size() <= UINT32_MAX);
  u32(static_cast<uint32_t>(bytes.size()));
  raw(bytes);
}

Result<ByteView> ByteReader::raw(size_t count) {
  if (count > rest_.size()) return error("truncated: {} bytes are needed, {} are left", count, rest_.size());
  const ByteView out = rest_.first(count);
  rest_ = rest_.subspan(count);
  return out;
}

Result<uint64_t> ByteReader::integer(size_t width) {
  ZKAPEX_TRY(const ByteView bytes, raw(width));
  uint64_t v = 0;
  for (size_t k = 0; k < width; ++k) v |= static_cast<uint64_t>(bytes[k]) << (8 * k);
  return v;
}

Result<uint8_t> ByteReader::u8() {
  ZKAPEX_TRY(const uint64_t v, integer(1));
  return static_cast<uint8_t>(v);
}
Result<uint16_t> ByteReader::u16() {
  ZKAPEX_TRY(const uint64_t v, integer(2));
  return static_cast<uint16_t>(v);
}
Result<uint32_t> ByteReader::u32() {
  ZKAPEX_TRY(const uint64_t v, integer(4));
  return static_cast<uint32_t>(v);
}
Result<uint64_t> ByteReader::u64() { return integer(8); }

Result<ByteView> ByteReader::sized(size_t max_length) {
  ZKAPEX_TRY(const uint32_t length, u32());
  if (length > max_length) return error("a length of {} is over the limit of {}", length, max_length);
  return raw(length);
}

Result<std::string> ByteReader::text(size_t max_length) {
  ZKAPEX_TRY(const ByteView bytes, sized(max_length));
  return std::string(bytes.begin(), bytes.end());
}

Status ByteReader::finish() const {
  if (!rest_.empty()) return error("{} bytes after the end", rest_.size());
  return Done{};
}

}  // namespace zkapex
