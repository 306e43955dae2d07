#include "base/file_kind.h"

#include <algorithm>
#include <string>

namespace zkapex {

namespace {

struct Magic {
  std::string_view bytes, kind;
};
constexpr Magic kMagics[] = {
    {"ZKAPEXDP", "a deployment"},
    {"ZKAPEXPS", "a mask"},
    {"ZKAPEXRG", "a registration"},
    {"ZKAPEXRD", "a verified registration"},
    {"ZKAPEXPF", "a proof of a window"},
    {"ZKAPEXUP", "an update"},
    {"ZKAPEXCM", "a model commitment"},
    {"ZKAPEXSC", "a client's secret state"},
    {"ZKAPEXCV", "a curvature store"},
    {"PK\x03\x04", "a zip archive (PyTorch's files are such; zkapex reads safetensors)"},
    {"\x80\x02", "a Python pickle (zkapex reads safetensors)"},
    {"\x1f\x8b", "a gzip file"},
    {"\x89PNG", "a PNG image"},
    {"\xff\xd8\xff", "a JPEG image"},
};

// u64 length of the header, at most 100 MB, and the header's first character.
bool is_safetensors(ByteView start) {
  return start.size() > 8 && std::all_of(start.begin() + 4, start.begin() + 8, [](uint8_t b) { return b == 0; }) &&
         start[3] < 6 && start[8] == '{';
}

}  // namespace

std::string_view kind_of_file(ByteView file) {
  const ByteView start = file.first(std::min<size_t>(file.size(), 4096));
  // Before the magics: a header's length may begin with the two bytes of a pickle or of a gzip file.
  if (is_safetensors(start)) return "a checkpoint";
  for (const Magic& magic : kMagics) {
    if (start.size() >= magic.bytes.size() && std::ranges::equal(view(magic.bytes), start.first(magic.bytes.size())))
      return magic.kind;
  }
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  if (!text.starts_with('{')) return "";
  if (text.find("\"zkapex-splits\"") != std::string_view::npos) return "a split file";
  return "a JSON document";
}

Error wrong_kind(ByteView file, std::string_view expected) {
  const std::string_view kind = kind_of_file(file);
  if (kind.empty() || kind == expected) return error("this is not {}", expected);
  return error("this is {}, not {}", kind, expected);
}

}  // namespace zkapex
