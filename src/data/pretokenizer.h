// GPT-2's cut of a text into words, before any merge, and its way to write bytes as printable characters.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace zkapex {

// The matches, in order, of
//   's|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+
// They cover the text: joined, they are the text again.
[[nodiscard]] std::vector<std::string_view> split_words(std::string_view text);

// Byte-level vocabularies write each byte as one visible character: printable Latin-1 bytes as themselves, the other
// 68 as U+0100, U+0101, … in order of the byte (a space is "Ġ").
[[nodiscard]] const std::array<std::string, 256>& byte_symbols();
[[nodiscard]] std::string to_symbols(std::string_view bytes);
[[nodiscard]] Result<std::string> from_symbols(std::string_view symbols);

}  // namespace zkapex
