// A file without a name, for what does not fit into memory for long: readable by nobody else, and gone with the
// process.
#pragma once

#include "base/bytes.h"
#include "base/files.h"

namespace zkapex {

class ScratchFile {
 public:
  [[nodiscard]] static Result<ScratchFile> in(const Path& folder);
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;
  ~ScratchFile();

  [[nodiscard]] Status write(uint64_t offset, ByteView bytes);
  // All of it was written before. Any thread may read.
  [[nodiscard]] Status read(uint64_t offset, std::span<uint8_t> out) const;

 private:
  ScratchFile(int descriptor, Path folder) : descriptor_(descriptor), folder_(std::move(folder)) {}
  [[nodiscard]] Error failure(std::string_view action) const;

  int descriptor_;
  Path folder_;
};

}  // namespace zkapex
