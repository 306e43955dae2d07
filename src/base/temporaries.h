// Files and folders under temporary names: NAME.tmp-<16 hexadecimal digits>, beside what they are to become. They go
// with the object that holds them, with the process where a signal ends it, and where nothing of it could run any more
// (kill -9, power) with the next one that writes into the folder.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace zkapex {

using Path = std::filesystem::path;

// Removes the file or the empty folder of that name when it goes.
class TemporaryName {
 public:
  TemporaryName() = default;
  explicit TemporaryName(Path path);
  // A new name beside `path`; nothing is made.
  [[nodiscard]] static Result<TemporaryName> beside(const Path& path);

  TemporaryName(TemporaryName&& other) noexcept;
  TemporaryName& operator=(TemporaryName&& other) noexcept;
  ~TemporaryName() { remove(); }

  [[nodiscard]] const Path& path() const { return path_; }
  void remove();
  // It has its final name: nothing is removed any more.
  void release();

 private:
  Path path_;      // empty: nothing to remove
  int slot_ = -1;  // where signals find it; -1 where there was no room
};

// A folder that appears under its name with all its files, or not at all. For its owner only.
class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> create(const Path& path);

  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  ~TemporaryFolder();

  // Where a file of that name is to be written, before `commit`.
  [[nodiscard]] Path file(const std::string& name);
  // An error where something of that name exists already.
  [[nodiscard]] Status commit();

 private:
  TemporaryFolder(Path path, TemporaryName name, int descriptor)
      : path_(std::move(path)), name_(std::move(name)), descriptor_(descriptor) {}

  Path path_;
  TemporaryName name_;
  std::vector<TemporaryName> files_;
  int descriptor_;  // locked: somebody is at work here
};

// NAME.tmp-<16 hexadecimal digits>: nothing else may be called so, since it would be swept away.
[[nodiscard]] bool is_temporary_name(std::string_view name);

// Removes what processes that are no more left in a folder. What a living one writes is locked, and stays.
void remove_stale_temporaries(const Path& folder);

// From here on SIGINT, SIGTERM and SIGHUP remove all temporaries before they end the process, unless they are ignored.
void remove_temporaries_on_signals();

}  // namespace zkapex
