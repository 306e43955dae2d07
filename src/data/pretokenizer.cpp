#include "data/pretokenizer.h"

#include "data/unicode.h"

namespace zkapex {

namespace {

using enum CharacterClass;

CharacterClass class_at(std::string_view text, size_t position, size_t& length) {
  const CodePoint point = code_point_at(text, position);
  length = point.length;
  return character_class(point.code);
}

// The end of the run of characters of one class that starts at `position`.
size_t run_end(std::string_view text, size_t position, CharacterClass wanted) {
  size_t length = 0;
  while (position < text.size() && class_at(text, position, length) == wanted) position += length;
  return position;
}

size_t contraction_length(std::string_view rest) {
  for (std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
    if (rest.starts_with(ending)) return ending.size();
  }
  return 0;
}

size_t word_end(std::string_view text, size_t begin) {
  if (const size_t length = contraction_length(text.substr(begin)); length > 0) return begin + length;
  // " ?" and a run of letters, of numbers, or of anything else that is not white space
  const size_t start = text[begin] == ' ' && begin + 1 < text.size() ? begin + 1 : begin;
  size_t length = 0;
  if (const CharacterClass first = class_at(text, start, length); first != kSpace) return run_end(text, start, first);
  // White space: all of it at the end of the text; otherwise all but the last character, which is left to lead the
  // next word, unless it is the only one.
  const size_t end = run_end(text, begin, kSpace);
  if (end == text.size()) return end;
  size_t last = begin;
  for (size_t at = begin; at < end; at += length) {
    last = at;
    length = code_point_at(text, at).length;
  }
  return last > begin ? last : end;
}

}  // namespace

std::vector<std::string_view> split_words(std::string_view text) {
  std::vector<std::string_view> words;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = word_end(text, begin);
    words.push_back(text.substr(begin, end - begin));
    begin = end;
  }
  return words;
}

const std::array<std::string, 256>& byte_symbols() {
  static const std::array<std::string, 256> symbols = [] {
    std::array<std::string, 256> out;
    char32_t next = 0x100;
    for (char32_t byte = 0; byte < 256; ++byte) {
      const bool printable = (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
      append_utf8(printable ? byte : next++, out[byte]);
    }
    return out;
  }();
  return symbols;
}

std::string to_symbols(std::string_view bytes) {
  std::string out;
  for (const char c : bytes) out += byte_symbols()[static_cast<uint8_t>(c)];
  return out;
}

Result<std::string> from_symbols(std::string_view symbols) {
  static const std::array<int, 0x144> byte_of = [] {
    std::array<int, 0x144> out;
    out.fill(-1);
    for (int byte = 0; byte < 256; ++byte) out[code_point_at(byte_symbols()[static_cast<size_t>(byte)], 0).code] = byte;
    return out;
  }();
  std::string out;
  for (size_t at = 0; at < symbols.size();) {
    const CodePoint point = code_point_at(symbols, at);
    if (point.code >= byte_of.size() || byte_of[point.code] < 0) {
      return error("'{}' is not written in byte symbols (U+{:04X})", symbols, static_cast<uint32_t>(point.code));
    }
    out.push_back(static_cast<char>(byte_of[point.code]));
    at += point.length;
  }
  return out;
}

}  // namespace zkapex
