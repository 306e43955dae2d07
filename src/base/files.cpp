#include "base/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <system_error>
#include <utility>

namespace zkapex {

namespace {

class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  [[nodiscard]] int get() const { return number_; }
  [[nodiscard]] bool ok() const { return number_ >= 0; }
  [[nodiscard]] int release() { return std::exchange(number_, -1); }

 private:
  int number_;
};

template <class Call>
auto retry_if_interrupted(Call call) {
  auto result = call();
  while (result < 0 && errno == EINTR) result = call();
  return result;
}

template <class Buffer>
Result<Buffer> read_whole(const Path& path, size_t max_size) {
  constexpr size_t kChunk = size_t{1} << 16;
  const auto too_large = [&] {
    return error("cannot read {}: it has more than {} bytes, the most that is allowed here", path.string(), max_size);
  };

  // Without waiting for the other end of a pipe.
  const Descriptor file(retry_if_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  if (!file.ok()) return file_failure("read", path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return file_failure("read", path, errno);
  if (S_ISDIR(info.st_mode)) return file_failure("read", path, EISDIR);
  if (!S_ISREG(info.st_mode)) return error("cannot read {}: not a regular file", path.string());
  // Files of /proc say that they are empty; all are read until they end.
  const auto expected = static_cast<size_t>(info.st_size);
  if (expected > max_size) return too_large();

  Buffer out;
  out.resize(expected);
  size_t filled = 0;
  while (true) {
    // One byte more than expected, and than allowed, is asked for to see the end, or that there is none.
    if (filled == out.size()) out.resize(filled + std::min(kChunk, max_size - filled) + 1);
    const ssize_t got =
        retry_if_interrupted([&] { return ::read(file.get(), out.data() + filled, out.size() - filled); });
    if (got < 0) return file_failure("read", path, errno);
    if (got == 0) break;
    filled += static_cast<size_t>(got);
    if (filled > max_size) return too_large();
  }
  out.resize(filled);
  return out;
}

Path directory_of(const Path& path) { return path.has_parent_path() ? path.parent_path() : Path("."); }

// Says why `path` may not be written, if it may not.
Status check_target(const Path& path, bool overwrite) {
  if (!path.has_filename()) return error("cannot write {}: not the name of a file", path.string());
  if (is_temporary_name(path.filename().string()))
    return error("cannot write {}: such names are for temporary files; choose another", path.string());
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) {
    return errno == ENOENT ? Status(Done{}) : file_failure("write", path, errno);
  }
  if (S_ISDIR(info.st_mode)) return file_failure("write", path, EISDIR);
  if (!S_ISREG(info.st_mode) && !S_ISLNK(info.st_mode)) return error("cannot write {}: not a file", path.string());
  if (!overwrite) return error("{} exists already; choose another name, or --force to replace it", path.string());
  return Done{};
}

// Like rename, but fails with EEXIST where `to` exists, without a moment between the look and the leap.
int rename_to_new(const Path& from, const Path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_NOREPLACE) == 0) return 0;
  if (errno != EINVAL && errno != ENOSYS) return -1;
  // A file system without that flag: a second hard link is refused in the same way.
  return ::link(from.c_str(), to.c_str()) == 0 ? ::unlink(from.c_str()) : -1;
}

}  // namespace

Error file_failure(std::string_view action, const Path& path, int code) {
  return error("cannot {} {}: {}", action, path.string(), std::generic_category().message(code));
}

// File systems that cannot flush a directory say EINVAL.
Status flush_folder_of(const Path& path) {
  const Descriptor directory(::open(directory_of(path).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.ok() || (::fsync(directory.get()) != 0 && errno != EINVAL)) {
    return file_failure("flush to disk the directory of", path, errno);
  }
  return Done{};
}

Status make_private_folder(const Path& folder) {
  std::error_code failed;
  if (folder.has_parent_path()) std::filesystem::create_directories(folder.parent_path(), failed);
  if (failed) return error("cannot make the folder {}: {}", folder.string(), failed.message());
  if (::mkdir(folder.c_str(), 0700) == 0) return flush_folder_of(folder);
  const int code = errno;
  if (code == EEXIST && std::filesystem::is_directory(folder, failed)) return Done{};
  return file_failure("make the folder", folder, code);
}

Result<Bytes> read_file(const Path& path, size_t max_size) { return read_whole<Bytes>(path, max_size); }

Result<SecretBytes> read_secret_file(const Path& path, size_t max_size) {
  return read_whole<SecretBytes>(path, max_size);
}

Result<FileWriter> FileWriter::create(const Path& path, WriteOptions options) {
  ZKAPEX_CHECK(check_target(path, options.overwrite));
  remove_stale_temporaries(directory_of(path));
  while (true) {
    ZKAPEX_TRY(TemporaryName temporary, TemporaryName::beside(path));
    Descriptor file(retry_if_interrupted([&] {
      return ::open(temporary.path().c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, options.secret ? 0600 : 0644);
    }));
    if (!file.ok()) return file_failure("write", path, errno);
    // Where a file system has no locks, nobody else gets one either.
    retry_if_interrupted([&] { return ::flock(file.get(), LOCK_EX); });
    struct stat info {};
    if (::fstat(file.get(), &info) != 0) return file_failure("write", path, errno);
    if (info.st_nlink == 0) continue;  // taken for stale by somebody between its opening and its lock
    return FileWriter(path, std::move(temporary), file.release(), options.overwrite);
  }
}

FileWriter::FileWriter(Path path, TemporaryName temporary, int descriptor, bool overwrite)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor), overwrite_(overwrite) {}

FileWriter::FileWriter(FileWriter&& other) noexcept
    : path_(std::move(other.path_)),
      temporary_(std::move(other.temporary_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      overwrite_(other.overwrite_) {}

FileWriter& FileWriter::operator=(FileWriter&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    temporary_ = std::move(other.temporary_);
    descriptor_ = std::exchange(other.descriptor_, -1);
    overwrite_ = other.overwrite_;
  }
  return *this;
}

FileWriter::~FileWriter() { discard(); }

void FileWriter::discard() {
  temporary_.remove();
  if (descriptor_ >= 0) ::close(std::exchange(descriptor_, -1));
}

Status FileWriter::write(ByteView bytes) {
  while (!bytes.empty()) {
    const ssize_t put = retry_if_interrupted([&] { return ::write(descriptor_, bytes.data(), bytes.size()); });
    if (put < 0) return file_failure("write", path_, errno);
    bytes = bytes.subspan(static_cast<size_t>(put));
  }
  return Done{};
}

Status FileWriter::flush() {
  if (::fsync(descriptor_) != 0) return file_failure("write", path_, errno);
  return Done{};
}

Status FileWriter::commit() {
  const Status flushed = flush();
  if (!flushed) {
    discard();
    return flushed;
  }
  const Path& from = temporary_.path();
  if ((overwrite_ ? ::rename(from.c_str(), path_.c_str()) : rename_to_new(from, path_)) != 0) {
    const int code = errno;
    discard();
    return file_failure("write", path_, code);
  }
  temporary_.release();
  discard();
  return flush_folder_of(path_);
}

Status write_file(const Path& path, ByteView bytes, WriteOptions options) {
  ZKAPEX_TRY(FileWriter file, FileWriter::create(path, options));
  ZKAPEX_CHECK(file.write(bytes));
  return file.commit();
}

Result<FileReader> FileReader::open(const Path& path) {
  // Without waiting for the other end of a pipe.
  Descriptor file(retry_if_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  if (!file.ok()) return file_failure("read", path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return file_failure("read", path, errno);
  if (S_ISDIR(info.st_mode)) return file_failure("read", path, EISDIR);
  if (!S_ISREG(info.st_mode)) return error("cannot read {}: not a regular file", path.string());
  return FileReader(path, file.release(), static_cast<uint64_t>(info.st_size));
}

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

FileReader& FileReader::operator=(FileReader&& other) noexcept {
  std::swap(path_, other.path_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  return *this;
}

FileReader::~FileReader() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Status FileReader::read_at(uint64_t offset, std::span<uint8_t> out) const {
  while (!out.empty()) {
    const ssize_t got =
        retry_if_interrupted([&] { return ::pread(descriptor_, out.data(), out.size(), static_cast<off_t>(offset)); });
    if (got < 0) return file_failure("read", path_, errno);
    if (got == 0) return error("cannot read {}: it ends {} bytes early", path_.string(), out.size());
    offset += static_cast<uint64_t>(got);
    out = out.subspan(static_cast<size_t>(got));
  }
  return Done{};
}

Result<std::optional<FolderLock>> FolderLock::try_take(const Path& folder) {
  Descriptor directory(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!directory.ok()) return file_failure("open", folder, errno);
  if (retry_if_interrupted([&] { return ::flock(directory.get(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno == EWOULDBLOCK) return std::optional<FolderLock>();
    return file_failure("lock", folder, errno);
  }
  return std::optional(FolderLock(directory.release()));
}

Result<FolderLock> FolderLock::take(const Path& folder) {
  ZKAPEX_TRY(std::optional<FolderLock> lock, try_take(folder));
  if (!lock) return error("{} is in use by another command", folder.string());
  return *std::move(lock);
}

FolderLock::FolderLock(FolderLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock& FolderLock::operator=(FolderLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

FolderLock::~FolderLock() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<MappedFile> MappedFile::open(const Path& path) {
  const Descriptor file(retry_if_interrupted([&] { return ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC); }));
  if (!file.ok()) return file_failure("read", path, errno);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return file_failure("read", path, errno);
  if (S_ISDIR(info.st_mode)) return file_failure("read", path, EISDIR);
  if (!S_ISREG(info.st_mode)) return error("cannot map {}: not a regular file", path.string());
  const auto size = static_cast<size_t>(info.st_size);
  if (size == 0) return MappedFile(ByteView());  // a mapping of nothing is not allowed
  void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
  if (memory == MAP_FAILED) return file_failure("map", path, errno);
  return MappedFile(ByteView(static_cast<const uint8_t*>(memory), size));
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  if (this != &other) {
    unmap();
    bytes_ = std::exchange(other.bytes_, {});
  }
  return *this;
}

MappedFile::~MappedFile() { unmap(); }

void forget_mapped(ByteView part) {
  if (part.empty()) return;
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE)), start = reinterpret_cast<uintptr_t>(part.data());
  const uintptr_t first = start / page * page;
  ::madvise(const_cast<uint8_t*>(part.data() - (start - first)), start - first + part.size(), MADV_DONTNEED);
}

void MappedFile::unmap() {
  if (!bytes_.empty()) ::munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
  bytes_ = {};
}

}  // namespace zkapex
