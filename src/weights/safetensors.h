// The safetensors format: u64 little-endian header length, a JSON object that describes the tensors, their bytes.
// Reading follows the format to the letter; anything else is an error that says where.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "weights/tensor.h"

namespace zkapex {

using Metadata = std::map<std::string, std::string>;

struct SafetensorsHeader {
  static constexpr uint64_t kMaxLength = 100'000'000;  // of the JSON text, set by the format

  struct Entry {
    TensorInfo info;
    uint64_t begin = 0, end = 0;  // in the file, header included
  };
  std::vector<Entry> tensors;  // in the order of their bytes
  Metadata metadata;
};

// `file` is the whole file. Holds when ok: names are unique; the tensors lie one after another from the end of the
// header to the end of the file, each exactly as long as shape and type say.
[[nodiscard]] Result<SafetensorsHeader> parse_safetensors(ByteView file);

// Header of a file with these tensors, laid out by decreasing element size, then by name (so that every tensor is
// aligned), padded with spaces to a multiple of eight bytes: equal tensors and metadata give equal bytes.
struct SafetensorsPlan {
  Bytes header;               // with its length in front
  std::vector<size_t> order;  // order[k]: which of the given tensors comes k-th
  uint64_t data_bytes = 0;
};
[[nodiscard]] Result<SafetensorsPlan> plan_safetensors(const std::vector<TensorInfo>& tensors,
                                                       const Metadata& metadata);

}  // namespace zkapex
