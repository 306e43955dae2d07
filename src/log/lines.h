// Texts of lines, as the formats of C2SP are.
#pragma once

#include <array>
#include <charconv>
#include <optional>
#include <string_view>

#include "log/base64.h"
#include "log/merkle.h"

namespace zkapex {

// The next line, without its newline, which is taken off `text`; none where no newline is left.
[[nodiscard]] inline std::optional<std::string_view> take_line(std::string_view& text) {
  const size_t end = text.find('\n');
  if (end == text.npos) return std::nullopt;
  const std::string_view out = text.substr(0, end);
  text.remove_prefix(end + 1);
  return out;
}

// A decimal number without leading zeros, below 2^63.
[[nodiscard]] inline std::optional<uint64_t> plain_decimal(std::string_view text) {
  uint64_t out = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (text.empty() || failed != std::errc() || end != text.data() + text.size() || out >> 63 != 0) return std::nullopt;
  if (text.size() > 1 && text[0] == '0') return std::nullopt;
  return out;
}

// One hash in base64.
[[nodiscard]] inline std::optional<TreeHash> hash_in_base64(std::string_view text) {
  const Result<Bytes> bytes = from_base64(text);
  TreeHash out;
  if (!bytes || bytes->size() != out.size()) return std::nullopt;
  std::copy(bytes->begin(), bytes->end(), out.begin());
  return out;
}

}  // namespace zkapex
