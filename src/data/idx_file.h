// IDX, the format of MNIST and Fashion-MNIST: bytes of a given shape, possibly compressed by gzip.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "base/bytes.h"

namespace zkapex {

struct IdxArray {
  std::vector<int64_t> shape;
  Bytes values;
};

// Unsigned bytes only; the file must hold exactly what its shape says, at most 2^31 bytes.
[[nodiscard]] Result<IdxArray> read_idx(const std::filesystem::path& path);
[[nodiscard]] Result<IdxArray> parse_idx(ByteView file);

}  // namespace zkapex
