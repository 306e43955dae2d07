#include "data/unicode.h"

#include <algorithm>
#include <span>

namespace zkapex {

namespace {

struct CodePointRange {
  char32_t first, last;
};

#include "data/unicode_categories.inc"

bool contains(std::span<const CodePointRange> ranges, char32_t code) {
  const auto after = std::upper_bound(ranges.begin(), ranges.end(), code,
                                      [](char32_t c, const CodePointRange& range) { return c < range.first; });
  return after != ranges.begin() && code <= std::prev(after)->last;
}

constexpr CodePoint kMalformed{0xFFFD, 1};

}  // namespace

CharacterClass character_class(char32_t code) {
  if (contains(kLetters, code)) return CharacterClass::kLetter;
  if (contains(kSpaces, code)) return CharacterClass::kSpace;
  if (contains(kNumbers, code)) return CharacterClass::kNumber;
  return CharacterClass::kOther;
}

CodePoint code_point_at(std::string_view text, size_t position) {
  const auto byte = [&](size_t k) { return static_cast<uint8_t>(text[position + k]); };
  const uint8_t lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const uint8_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || position + length > text.size()) return kMalformed;
  char32_t code = lead & (0xFFU >> (length + 1));
  for (uint8_t k = 1; k < length; ++k) {
    if ((byte(k) & 0xC0) != 0x80) return kMalformed;
    code = (code << 6) | (byte(k) & 0x3FU);
  }
  constexpr char32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = code >= 0xD800 && code < 0xE000;
  if (code < kSmallest[length] || code > 0x10FFFF || surrogate) return kMalformed;
  return {code, length};
}

void append_utf8(char32_t code, std::string& out) {
  const auto put = [&](char32_t byte) { out.push_back(static_cast<char>(static_cast<uint8_t>(byte))); };
  if (code < 0x80) {
    put(code);
  } else if (code < 0x800) {
    put(0xC0 | (code >> 6));
    put(0x80 | (code & 0x3F));
  } else if (code < 0x10000) {
    put(0xE0 | (code >> 12));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  } else {
    put(0xF0 | (code >> 18));
    put(0x80 | ((code >> 12) & 0x3F));
    put(0x80 | ((code >> 6) & 0x3F));
    put(0x80 | (code & 0x3F));
  }
}

}  // namespace zkapex
