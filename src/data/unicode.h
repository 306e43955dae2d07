// The little of Unicode that a byte-level tokenizer asks: reading UTF-8, and which code points are letters, numbers or
// white space.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace zkapex {

enum class CharacterClass : uint8_t { kLetter, kNumber, kSpace, kOther };

[[nodiscard]] CharacterClass character_class(char32_t code);

struct CodePoint {
  char32_t code;
  uint8_t length;  // in bytes
};

// The code point that starts at `position` (< text.size()). A byte that starts no well-formed sequence is taken alone,
// as U+FFFD of length 1: any bytes can be read, and none is lost.
[[nodiscard]] CodePoint code_point_at(std::string_view text, size_t position);

void append_utf8(char32_t code, std::string& out);

}  // namespace zkapex
