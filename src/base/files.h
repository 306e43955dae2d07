// Files: read whole, written whole or not at all, or mapped into memory. Errors name the file and the reason.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "base/bytes.h"
#include "base/result.h"
#include "base/secret.h"
#include "base/temporaries.h"

namespace zkapex {

// A file of more than `max_size` bytes is an error, found before more than that is read; so is a pipe or a device.
[[nodiscard]] Result<Bytes> read_file(const Path& path, size_t max_size);
[[nodiscard]] Result<SecretBytes> read_secret_file(const Path& path, size_t max_size);

struct WriteOptions {
  bool overwrite = false;  // replace an existing file; otherwise one is an error
  bool secret = false;     // readable by its owner only (mode 0600 instead of 0644)
};

// A file that appears under its name complete, or not at all: it is written to a temporary name in the same
// directory, flushed to disk, and renamed by `commit`. Without a commit nothing is left of it; what killed processes
// left there is removed. A symbolic link at `path` is replaced, not followed.
class FileWriter {
 public:
  // Refuses at once what `commit` would refuse: an existing file without `overwrite`, a directory, a device.
  [[nodiscard]] static Result<FileWriter> create(const Path& path, WriteOptions options = {});

  FileWriter(FileWriter&& other) noexcept;
  FileWriter& operator=(FileWriter&& other) noexcept;
  ~FileWriter();

  // Goes to the operating system directly: write large pieces. After an error only destruction makes sense.
  [[nodiscard]] Status write(ByteView bytes);
  // What was written is on disk: `commit` needs no more room.
  [[nodiscard]] Status flush();
  // Nothing may be written afterwards.
  [[nodiscard]] Status commit();

 private:
  FileWriter(Path path, TemporaryName temporary, int descriptor, bool overwrite);
  void discard();

  Path path_;
  TemporaryName temporary_;
  int descriptor_;  // locked while it is written; -1 once closed
  bool overwrite_;
};

// Reads at any place of a file, from any thread, without mapping it: what is read leaves no trace in the process's
// memory.
class FileReader {
 public:
  [[nodiscard]] static Result<FileReader> open(const Path& path);

  FileReader(FileReader&& other) noexcept;
  FileReader& operator=(FileReader&& other) noexcept;
  ~FileReader();

  [[nodiscard]] uint64_t size() const { return size_; }
  // All of `out`; an error at the end of the file.
  [[nodiscard]] Status read_at(uint64_t offset, std::span<uint8_t> out) const;

 private:
  FileReader(Path path, int descriptor, uint64_t size) : path_(std::move(path)), descriptor_(descriptor), size_(size) {}

  Path path_;
  int descriptor_;
  uint64_t size_;
};

// "cannot read data.bin: No such file or directory"; `code` is errno right after the call that failed.
[[nodiscard]] Error file_failure(std::string_view action, const Path& path, int code);
// A new name is on disk once its folder is.
[[nodiscard]] Status flush_folder_of(const Path& path);

// The folder and those above it, where they are not there yet; a new one is for its owner only.
[[nodiscard]] Status make_private_folder(const Path& folder);

[[nodiscard]] Status write_file(const Path& path, ByteView bytes, WriteOptions options = {});

// Holds a folder for one process, or one part of it: a second lock on the same folder is an error. Nothing is written;
// the lock goes with this object, or with the process.
class FolderLock {
 public:
  [[nodiscard]] static Result<FolderLock> take(const Path& folder);
  // Nothing where somebody else has it.
  [[nodiscard]] static Result<std::optional<FolderLock>> try_take(const Path& folder);

  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&& other) noexcept;
  ~FolderLock();

 private:
  explicit FolderLock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

// What was read of a mapped file leaves the process's memory; it comes back when it is read again. `part` lies in a
// MappedFile, and nowhere else: other memory would be lost.
void forget_mapped(ByteView part);

// A file in memory, read-only. Nobody may shorten the file while it is mapped: reading past its new end would be
// a bus error. Files written by FileWriter are replaced as a whole, which leaves a mapping of the old one intact.
class MappedFile {
 public:
  [[nodiscard]] static Result<MappedFile> open(const Path& path);

  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  [[nodiscard]] ByteView bytes() const { return bytes_; }

 private:
  explicit MappedFile(ByteView bytes) : bytes_(bytes) {}
  void unmap();

  ByteView bytes_;
};

}  // namespace zkapex
