#include "service/blobs.h"

#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <mutex>
#include <set>

#include "base/hash.h"

namespace zkapex {

namespace {

// Folders whose names are on disk, as far as this process has seen to it: one that another process has just made may
// not be there yet.
class DurableFolders {
 public:
  // For its owner only; on disk once it is flushed.
  static Status make(const Path& folder) {
    if (::mkdir(folder.c_str(), 0700) == 0 || errno == EEXIST) return Done{};
    return file_failure("make the folder", folder, errno);
  }
  // After what is in it: one commit of the file system's journal then has both.
  Status flush(const Path& folder) {
    {
      const std::lock_guard lock(mutex_);
      if (durable_.contains(folder)) return Done{};
    }
    ZKAPEX_CHECK(flush_folder_of(folder));
    const std::lock_guard lock(mutex_);
    durable_.insert(folder);
    return Done{};
  }

 private:
  std::mutex mutex_;
  std::set<Path> durable_;
};

class FileBlobWriter : public BlobWriter {
 public:
  FileBlobWriter(FileWriter file, Path path, DurableFolders& folders, const BlobName& promised)
      : file_(std::move(file)), path_(std::move(path)), folders_(folders), promised_(promised) {}

  Status write(ByteView bytes) override {
    if (bytes.size() > promised_.bytes - written_) return error("more bytes than the {} announced", promised_.bytes);
    written_ += bytes.size();
    hash_.update(bytes);
    return file_.write(bytes);
  }

  Result<bool> finish() override {
    if (written_ != promised_.bytes || hash_.finish() != promised_.sha256) return false;
    ZKAPEX_CHECK(file_.commit());
    ZKAPEX_CHECK(folders_.flush(path_.parent_path()));
    ZKAPEX_CHECK(folders_.flush(path_.parent_path().parent_path()));
    return true;
  }

 private:
  FileWriter file_;
  Path path_;
  DurableFolders& folders_;
  BlobName promised_;
  Sha256 hash_;
  uint64_t written_ = 0;
};

class BlobFolder : public Blobs {
 public:
  explicit BlobFolder(Path folder) : folder_(std::move(folder)) {}

  Result<std::unique_ptr<BlobWriter>> write(const BlobName& promised) override {
    const Path path = path_of(promised);
    ZKAPEX_CHECK(DurableFolders::make(path.parent_path().parent_path()));
    ZKAPEX_CHECK(DurableFolders::make(path.parent_path()));
    // What is there under this name has the same bytes, or is damaged.
    ZKAPEX_TRY(FileWriter file, FileWriter::create(path, {.overwrite = true, .secret = true}));
    return std::unique_ptr<BlobWriter>(std::make_unique<FileBlobWriter>(std::move(file), path, folders_, promised));
  }

  Result<Bytes> read(const BlobName& name) override {
    ZKAPEX_TRY(Bytes bytes, read_file(path_of(name), name.bytes));
    if (bytes.size() != name.bytes || sha256(bytes) != name.sha256)
      return error("{} is damaged: restore it from a backup", path_of(name).string());
    return bytes;
  }

  Result<bool> has(const BlobName& name) override {
    std::error_code failed;
    const uintmax_t size = std::filesystem::file_size(path_of(name), failed);
    if (failed == std::errc::no_such_file_or_directory) return false;
    if (failed) return file_failure("read", path_of(name), failed.value());
    return size == name.bytes;
  }

  Status remove(const BlobName& name) override {
    const Path path = path_of(name);
    if (::unlink(path.c_str()) != 0 && errno != ENOENT) return file_failure("remove", path, errno);
    std::error_code failed;
    // Flushed also where it was gone: whoever removed it may have been killed before it was.
    if (!std::filesystem::exists(path.parent_path(), failed)) return Done{};
    return flush_folder_of(path);
  }

 private:
  [[nodiscard]] Path path_of(const BlobName& name) const {
    const std::string hex = to_hex(name.sha256);
    return folder_ / hex.substr(0, 2) / hex.substr(2, 2) / hex;
  }

  Path folder_;
  DurableFolders folders_;
};

}  // namespace

Result<BlobName> put_blob(Blobs& blobs, ByteView bytes) {
  const BlobName name{sha256(bytes), bytes.size()};
  ZKAPEX_TRY(const std::unique_ptr<BlobWriter> writer, blobs.write(name));
  ZKAPEX_CHECK(writer->write(bytes));
  ZKAPEX_TRY(const bool kept, writer->finish());
  if (!kept) return error("a blob changed while it was written");
  return name;
}

Result<std::unique_ptr<Blobs>> open_blob_folder(const Path& folder) {
  const Path files = folder / "sha256";
  ZKAPEX_CHECK(make_private_folder(folder));
  ZKAPEX_CHECK(make_private_folder(files));
  ZKAPEX_CHECK(flush_folder_of(files));
  return std::unique_ptr<Blobs>(std::make_unique<BlobFolder>(files));
}

}  // namespace zkapex
