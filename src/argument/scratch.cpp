#include "argument/scratch.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace zkapex {

// The bytes are the scalars' words as they are in memory: the file never leaves the process.
class ScratchFile {
 public:
  ScratchFile(int descriptor, Path folder) : descriptor_(descriptor), folder_(std::move(folder)) {}
  ~ScratchFile() { ::close(descriptor_); }
  ScratchFile(const ScratchFile&) = delete;
  ScratchFile& operator=(const ScratchFile&) = delete;

  Result<uint64_t> append(std::span<const Scalar> values) {
    const uint64_t start = size_;
    const auto* bytes = reinterpret_cast<const uint8_t*>(values.data());
    for (size_t done = 0; done < values.size_bytes();) {
      const ssize_t put = ::pwrite(descriptor_, bytes + done, values.size_bytes() - done, static_cast<off_t>(size_));
      if (put < 0 && errno == EINTR) continue;
      if (put <= 0) return failure("write");
      done += static_cast<size_t>(put);
      size_ += static_cast<uint64_t>(put);
    }
    return start;
  }

  Status read(uint64_t offset, std::span<Scalar> out) const {
    auto* bytes = reinterpret_cast<uint8_t*>(out.data());
    for (size_t done = 0; done < out.size_bytes();) {
      const ssize_t got =
          ::pread(descriptor_, bytes + done, out.size_bytes() - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) return failure("read");
      done += static_cast<size_t>(got);
    }
    return Done{};
  }

 private:
  [[nodiscard]] Error failure(std::string_view action) const {
    return error("cannot {} a scratch file in {}: {}", action, folder_.string(),
                 std::generic_category().message(errno));
  }

  int descriptor_;
  Path folder_;
  uint64_t size_ = 0;
};

Result<Scratch> Scratch::in(const Path& folder) {
  std::string name = (folder / "scratch-XXXXXX").string();
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);  // mode 0600
  if (descriptor < 0) {
    return error("cannot make a scratch file in {}: {}", folder.string(), std::generic_category().message(errno));
  }
  ::unlink(name.c_str());
  Scratch out;
  out.file_ = std::make_shared<ScratchFile>(descriptor, folder);
  return out;
}

Result<KeptVector> Scratch::keep(std::vector<Scalar> values) {
  if (file_ == nullptr) return KeptVector(std::move(values));
  ZKAPEX_TRY(const uint64_t offset, file_->append(values));
  return KeptVector(file_, offset, values.size());
}

Result<std::vector<Scalar>> KeptVector::load() const {
  if (file_ == nullptr) return memory_;
  std::vector<Scalar> out(size_);
  ZKAPEX_CHECK(file_->read(offset_, out));
  return out;
}

}  // namespace zkapex
