#include "base/scratch_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "base/temporaries.h"

namespace zkapex {

Result<ScratchFile> ScratchFile::in(const Path& folder) {
  int descriptor = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);  // never has a name
  if (descriptor < 0 && errno == EOPNOTSUPP) {  // by that file system: a name for a moment
    ZKAPEX_TRY(TemporaryName name, TemporaryName::beside(folder / "scratch"));
    descriptor = ::open(name.path().c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
    if (descriptor >= 0) name.remove();
  }
  if (descriptor < 0)
    return error("cannot make a scratch file in {}: {}", folder.string(), std::generic_category().message(errno));
  return ScratchFile(descriptor, folder);
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept
    : descriptor_(std::exchange(other.descriptor_, -1)), folder_(std::move(other.folder_)) {}

ScratchFile::~ScratchFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status ScratchFile::write(uint64_t offset, ByteView bytes) {
  for (size_t done = 0; done < bytes.size();) {
    const ssize_t put =
        ::pwrite(descriptor_, bytes.data() + done, bytes.size() - done, static_cast<off_t>(offset + done));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) return failure("write");
    done += static_cast<size_t>(put);
  }
  return Done{};
}

Status ScratchFile::read(uint64_t offset, std::span<uint8_t> out) const {
  for (size_t done = 0; done < out.size();) {
    const ssize_t got = ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return failure("read");
    done += static_cast<size_t>(got);
  }
  return Done{};
}

Error ScratchFile::failure(std::string_view action) const {
  return error("cannot {} a scratch file in {}: {}", action, folder_.string(), std::generic_category().message(errno));
}

}  // namespace zkapex
