#include "base/outputs.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>

namespace zkapex {

namespace {

namespace fs = std::filesystem;

// By path with links resolved, and by device and inode where both are there.
bool same_file(const Path& a, const Path& b) {
  std::error_code failed;
  const Path first = fs::weakly_canonical(a, failed), second = fs::weakly_canonical(b, failed);
  if (!failed && first == second) return true;
  struct stat one {
  }, other{};
  return ::stat(a.c_str(), &one) == 0 && ::stat(b.c_str(), &other) == 0 && one.st_dev == other.st_dev &&
         one.st_ino == other.st_ino;
}

Path folder_of(const Path& file) { return file.has_parent_path() ? file.parent_path() : Path("."); }

// A checkpoint of several files is named by its folder, or by an index beside them.
bool is_part_of(const Path& file, const Path& checkpoint) {
  if (file.extension() != ".safetensors" && file.extension() != ".json") return false;
  std::error_code failed;
  const bool folder = fs::is_directory(checkpoint, failed);
  if ((!folder && checkpoint.extension() != ".json") || !fs::exists(fs::symlink_status(file, failed))) return false;
  return same_file(folder_of(file), folder ? checkpoint : folder_of(checkpoint));
}

}  // namespace

Status check_outputs(const std::vector<Path>& outputs, const std::vector<Path>& inputs, bool force) {
  for (size_t k = 0; k < outputs.size(); ++k) {
    const Path& out = outputs[k];
    if (out.empty()) continue;
    for (const Path& in : inputs) {
      if (!in.empty() && (same_file(out, in) || is_part_of(out, in)))
        return error("{} is an input of this command; choose another name for the output", out.string());
    }
    for (size_t j = 0; j < k; ++j) {
      if (!outputs[j].empty() && same_file(out, outputs[j]))
        return error("{} and {} are one file; give the outputs different names", outputs[j].string(), out.string());
    }
    std::error_code failed;
    if (!force && fs::exists(fs::symlink_status(out, failed)))
      return error("{} exists already; choose another name, or --force to replace it", out.string());
  }
  return Done{};
}

Status check_no_record(const Path& output) {
  std::error_code failed;
  if (output.empty() || !fs::exists(output, failed)) return Done{};
  const Path folder = folder_of(fs::weakly_canonical(output, failed));
  const bool beside = fs::exists(folder / "secret.zka", failed) || fs::exists(folder / "registered.zka", failed) ||
                      fs::is_directory(folder / "clients", failed);
  bool record = beside && output.extension() == ".zka";
  if (const Result<FileReader> file = FileReader::open(output); file.ok() && file->size() >= 8) {
    std::array<uint8_t, 8> magic{};
    constexpr std::string_view kRecords[] = {"ZKAPEXSC", "ZKAPEXRG", "ZKAPEXCM", "ZKAPEXRD"};
    record = record || (file->read_at(0, magic).ok() && std::ranges::any_of(kRecords, [&](std::string_view kind) {
                          return std::ranges::equal(view(kind), magic);
                        }));
  }
  if (record)
    return error("{} is a record of a client or a provider; choose another name for the output", output.string());
  return Done{};
}

}  // namespace zkapex
