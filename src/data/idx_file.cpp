#include "data/idx_file.h"

#include <zlib.h>

#include <memory>

namespace zkapex {

namespace {
constexpr uint64_t kMaxBytes = uint64_t{1} << 31;
}

Result<IdxArray> parse_idx(ByteView file) {
  constexpr uint8_t kUnsignedBytes = 0x08;
  if (file.size() < 4 || file[0] != 0 || file[1] != 0) return error("not an IDX file");
  if (file[2] != kUnsignedBytes) return error("IDX files of other elements than unsigned bytes are not supported");
  const size_t dimensions = file[3];
  if (dimensions == 0 || dimensions > 4 || file.size() < 4 + 4 * dimensions)
    return error("the IDX header is cut short");
  IdxArray out;
  uint64_t count = 1;
  for (size_t k = 0; k < dimensions; ++k) {
    uint64_t size = 0;  // big-endian
    for (size_t b = 0; b < 4; ++b) size = (size << 8) | file[4 + 4 * k + b];
    out.shape.push_back(static_cast<int64_t>(size));
    count *= size;
    if (count > kMaxBytes) return error("the IDX file claims more than {} bytes", kMaxBytes);
  }
  const ByteView values = file.subspan(4 + 4 * dimensions);
  if (values.size() != count) return error("the IDX file holds {} bytes, its shape needs {}", values.size(), count);
  out.values.assign(values.begin(), values.end());
  return out;
}

Result<IdxArray> read_idx(const std::filesystem::path& path) {
  struct Close {
    void operator()(gzFile_s* file) const { gzclose(file); }
  };
  const std::unique_ptr<gzFile_s, Close> file(gzopen(path.c_str(), "rb"));  // also reads what is not compressed
  if (!file) return error("{} cannot be opened", path.string());
  Bytes bytes;
  Bytes piece(size_t{1} << 20);
  while (true) {
    const int got = gzread(file.get(), piece.data(), static_cast<unsigned>(piece.size()));
    if (got < 0) return error("{} is not readable: its compression is damaged", path.string());
    if (got == 0) break;
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + got);
    if (bytes.size() > kMaxBytes) return error("{} holds more than {} bytes", path.string(), kMaxBytes);
  }
  auto array = parse_idx(bytes);
  if (!array.ok()) return array.error().within(path.string());
  return array;
}

}  // namespace zkapex
