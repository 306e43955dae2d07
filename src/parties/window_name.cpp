#include "parties/window_name.h"

#include <fmt/format.h>

#include "base/bytes.h"

namespace zkapex {

namespace {

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

}  // namespace

std::string window_folder_name(std::string_view window, const Sha256::Digest& mask) {
  constexpr size_t kLongest = 200;  // file systems take 255 bytes, temporary names are longer than final ones
  std::string out;
  for (const char c : window) {
    if (is_plain(c)) {
      out += c;
    } else {
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
    }
  }
  return out.empty() || out.size() > kLongest ? to_hex(mask) : out;
}

}  // namespace zkapex
