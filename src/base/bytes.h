// Bytes and their canonical encoding: integers little-endian and fixed width, strings and byte strings behind a u32
// length.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace zkapex {

using Bytes = std::vector<uint8_t>;
using ByteView = std::span<const uint8_t>;

[[nodiscard]] inline ByteView view(std::string_view text) {
  return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
}

[[nodiscard]] std::string to_hex(ByteView bytes);
// Lower or upper case, even length; anything else is an error.
[[nodiscard]] Result<Bytes> from_hex(std::string_view text);

class ByteWriter {
 public:
  void u8(uint8_t v) { out_.push_back(v); }
  void u16(uint16_t v) { integer(v, 2); }
  void u32(uint32_t v) { integer(v, 4); }
  void u64(uint64_t v) { integer(v, 8); }
  void raw(ByteView bytes) {
    const size_t at = out_.size();
    out_.resize(at + bytes.size());
    std::copy(bytes.begin(), bytes.end(), out_.begin() + static_cast<ptrdiff_t>(at));
  }
  void sized(ByteView bytes);  // u32 length, then the bytes: less than 4 GiB of them
  void text(std::string_view s) { sized(view(s)); }

  [[nodiscard]] const Bytes& bytes() const { return out_; }
  [[nodiscard]] Bytes take() { return std::move(out_); }

 private:
  void integer(uint64_t v, int width) {
    for (int k = 0; k < width; ++k) out_.push_back(static_cast<uint8_t>(v >> (8 * k)));
  }
  Bytes out_;
};

// Reads what ByteWriter wrote. Every read past the end is an error; `finish` refuses trailing bytes.
// Nothing is allocated by a length that was read before it has been checked against what is left.
class ByteReader {
 public:
  explicit ByteReader(ByteView bytes) : rest_(bytes) {}

  Result<uint8_t> u8();
  Result<uint16_t> u16();
  Result<uint32_t> u32();
  Result<uint64_t> u64();
  Result<ByteView> raw(size_t count);
  Result<ByteView> sized(size_t max_length);
  Result<std::string> text(size_t max_length);
  template <size_t N>
  Result<std::array<uint8_t, N>> array() {
    ZKAPEX_TRY(ByteView bytes, raw(N));
    std::array<uint8_t, N> out;
    std::copy(bytes.begin(), bytes.end(), out.begin());
    return out;
  }
  [[nodiscard]] size_t left() const { return rest_.size(); }
  [[nodiscard]] Status finish() const;

 private:
  Result<uint64_t> integer(size_t width);
  ByteView rest_;
};

}  // namespace zkapex
