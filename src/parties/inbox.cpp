#include "parties/inbox.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "attestation/files.h"

namespace zkapex {

namespace {

// Links are not followed, and opening a pipe does not wait for its other end.
constexpr int kCautious = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;

Rejection refused(const std::string& file, int code) {
  if (code == ELOOP) return {Reason::kFile, fmt::format("{} is a symbolic link", file)};
  return {Reason::kFile, fmt::format("cannot read {}: {}", file, std::generic_category().message(code))};
}

// Reads and closes `descriptor`, which is negative where opening failed with errno.
Result<Bytes, Rejection> read_and_close(int descriptor, const std::string& file, size_t max_bytes) {
  if (descriptor < 0) return refused(file, errno);
  const auto read_all = [&]() -> Result<Bytes, Rejection> {
    struct stat info {};
    if (::fstat(descriptor, &info) != 0) return refused(file, errno);
    if (!S_ISREG(info.st_mode)) return Rejection{Reason::kFile, fmt::format("{} is not a regular file", file)};
    const auto size = static_cast<size_t>(info.st_size);
    if (size > max_bytes) {
      return Rejection{Reason::kLength,
                       fmt::format("{} has {} bytes, and no valid one has more than {}", file, size, max_bytes)};
    }
    Bytes out(size);
    for (size_t filled = 0; filled < size;) {
      const ssize_t got = ::read(descriptor, out.data() + filled, size - filled);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return refused(file, errno);
      if (got == 0) return Rejection{Reason::kFile, fmt::format("{} became shorter while it was read", file)};
      filled += static_cast<size_t>(got);
    }
    return out;
  };
  Result<Bytes, Rejection> out = read_all();
  ::close(descriptor);
  return out;
}

// Frame, digests, names, counts and a cut.
constexpr size_t kMostFields = 2048;
size_t fields_with(size_t parts) { return kMostFields + parts * sizeof(uint64_t); }

}  // namespace

Result<Bytes, Rejection> read_handed_in(const Path& file, size_t max_bytes) {
  return read_and_close(::open(file.c_str(), kCautious), file.filename().string(), max_bytes);
}

Result<Inbox> Inbox::open(const Path& folder) {
  const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0) return error("cannot list {}: {}", folder.string(), std::generic_category().message(errno));
  return Inbox(folder, descriptor);
}

Inbox::Inbox(Inbox&& other) noexcept
    : folder_(std::move(other.folder_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

Inbox& Inbox::operator=(Inbox&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

Inbox::~Inbox() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<std::vector<std::string>> Inbox::senders() const {
  std::error_code failed;
  std::vector<std::string> out;
  for (std::filesystem::directory_iterator it(folder_, failed), end; !failed && it != end; it.increment(failed)) {
    std::error_code unknown;
    const auto status = it->symlink_status(unknown);
    if (std::filesystem::is_directory(status) || std::filesystem::is_symlink(status))
      out.push_back(it->path().filename().string());
  }
  if (failed) return error("cannot list {}: {}", folder_.string(), failed.message());
  std::sort(out.begin(), out.end());
  return out;
}

Result<Bytes, Rejection> Inbox::read(const std::string& sender, const std::string& file, size_t max_bytes) const {
  const int folder = ::openat(descriptor_, sender.c_str(), kCautious | O_DIRECTORY);
  if (folder < 0) {
    // Of a link it says ENOTDIR, like of a file.
    return Rejection{Reason::kFile, errno == ENOTDIR || errno == ELOOP ? "the client's folder is a symbolic link"
                                                                       : refused("the client's folder", errno).detail};
  }
  Result<Bytes, Rejection> out = read_and_close(::openat(folder, file.c_str(), kCautious), file, max_bytes);
  ::close(folder);
  return out;
}

Result<size_t> longest_proof_file(const Deployment& deployment, const Mask& mask) {
  ZKAPEX_TRY(const WindowPlan::Most most, WindowPlan::most(deployment, mask));
  return most.proof_bytes + fields_with(most.parts);
}

Result<size_t> longest_registration_file(const Deployment& deployment) {
  ZKAPEX_TRY(const RegistrationPlan::Most most, RegistrationPlan::most(deployment));
  return most.proof_bytes + fields_with(most.parts);
}

// A registration, and for each window a fork for every 2^22 covered entries, of fewer than 128 scalars with its pair,
// and rows of slacks: of the largest there can be, half of a row may be left over.
Result<size_t> longest_update_file(const Deployment& deployment, size_t windows) {
  constexpr size_t kFork = 128 * 32, kRow = 32;
  const Layout& layout = deployment.layout();
  const uint64_t n = layout.geometry().row;
  const size_t parts = layout.rows() * n / (uint64_t{1} << 22) + 1;
  const size_t slacks = layout.tensors().size() * Deployment::kMaxSlackBits / (n / 2) + 2;
  ZKAPEX_TRY(const size_t registration, longest_registration_file(deployment));
  return registration + (windows + 1) * (parts * kFork + slacks * kRow);
}

}  // namespace zkapex
