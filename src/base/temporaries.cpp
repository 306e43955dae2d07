#include "base/temporaries.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

#include "base/files.h"
#include "base/random.h"

namespace zkapex {

namespace {

constexpr std::string_view kMark = ".tmp-";
constexpr size_t kDigits = 16;

// A signal handler reaches nothing but globals, and may not allocate: a fixed list of names. Where it is full, a name
// is left to its owner and to the next process.
struct Slot {
  enum State : int { kFree, kClaimed, kLive };
  std::atomic<int> state = kFree;
  std::array<char, 1024> path{};
};
static_assert(std::atomic<int>::is_always_lock_free);
std::array<Slot, 64> g_slots;

int claim_slot(const Path& path) {
  if (path.native().size() >= sizeof(Slot::path)) return -1;
  for (size_t k = 0; k < g_slots.size(); ++k) {
    int expected = Slot::kFree;
    if (!g_slots[k].state.compare_exchange_strong(expected, Slot::kClaimed)) continue;
    std::memcpy(g_slots[k].path.data(), path.c_str(), path.native().size() + 1);
    g_slots[k].state = Slot::kLive;
    return static_cast<int>(k);
  }
  return -1;
}

void free_slot(int slot) {
  if (slot >= 0) g_slots[static_cast<size_t>(slot)].state = Slot::kFree;
}

// Only what may be called in a signal handler. Files first: folders must be empty.
void remove_all_and_end(int signal) {
  for (Slot& slot : g_slots) {
    if (slot.state == Slot::kLive) ::unlink(slot.path.data());
  }
  for (Slot& slot : g_slots) {
    if (slot.state == Slot::kLive) ::rmdir(slot.path.data());
  }
  ::raise(signal);  // its default action again, and unblocked: this ends the process as the sender expects
}

// Nobody holds its lock: whoever made it is gone.
void remove_if_stale(const Path& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return;
  if (::flock(file, LOCK_EX | LOCK_NB) == 0) {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  ::close(file);
}

}  // namespace

bool is_temporary_name(std::string_view name) {
  if (name.size() <= kMark.size() + kDigits) return false;
  const std::string_view end = name.substr(name.size() - kMark.size() - kDigits);
  return end.starts_with(kMark) && std::ranges::all_of(end.substr(kMark.size()), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

TemporaryName::TemporaryName(Path path) : path_(std::move(path)), slot_(claim_slot(path_)) {}

Result<TemporaryName> TemporaryName::beside(const Path& path) {
  ZKAPEX_TRY(const auto digits, random_array<kDigits / 2>());
  Path temporary = path;
  temporary += std::string(kMark) + to_hex(digits);
  return TemporaryName(std::move(temporary));
}

TemporaryName::TemporaryName(TemporaryName&& other) noexcept
    : path_(std::exchange(other.path_, {})), slot_(std::exchange(other.slot_, -1)) {}

TemporaryName& TemporaryName::operator=(TemporaryName&& other) noexcept {
  if (this != &other) {
    remove();
    path_ = std::exchange(other.path_, {});
    slot_ = std::exchange(other.slot_, -1);
  }
  return *this;
}

void TemporaryName::remove() {
  if (!path_.empty() && ::unlink(path_.c_str()) != 0) ::rmdir(path_.c_str());
  release();
}

void TemporaryName::release() {
  free_slot(std::exchange(slot_, -1));
  path_.clear();
}

Result<TemporaryFolder> TemporaryFolder::create(const Path& path) {
  ZKAPEX_TRY(TemporaryName name, TemporaryName::beside(path));
  int descriptor = -1;
  if (::mkdir(name.path().c_str(), 0700) == 0) {
    descriptor = ::open(name.path().c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }
  if (descriptor < 0) return file_failure("make the folder", path, errno);
  ::flock(descriptor, LOCK_EX);  // where a file system has no locks, nobody else gets one either
  return TemporaryFolder(path, std::move(name), descriptor);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept
    : path_(std::move(other.path_)),
      name_(std::move(other.name_)),
      files_(std::move(other.files_)),
      descriptor_(std::exchange(other.descriptor_, -1)) {}

TemporaryFolder::~TemporaryFolder() {
  files_.clear();  // before the folder
  name_.remove();
  if (descriptor_ >= 0) ::close(descriptor_);
}

Path TemporaryFolder::file(const std::string& name) {
  files_.emplace_back(name_.path() / name);
  return files_.back().path();
}

Status TemporaryFolder::commit() {
  if (::fsync(descriptor_) != 0 && errno != EINVAL) return file_failure("write", path_, errno);
  std::error_code ignored;
  // A rename replaces an empty folder and no other.
  if (std::filesystem::exists(path_, ignored)) return error("{} exists already", path_.string());
  if (::rename(name_.path().c_str(), path_.c_str()) != 0) return file_failure("write", path_, errno);
  for (TemporaryName& file : files_) file.release();
  name_.release();
  return flush_folder_of(path_);
}

void remove_stale_temporaries(const Path& folder) {
  std::error_code failed;
  std::vector<Path> found;
  for (std::filesystem::directory_iterator at(folder, failed), end; !failed && at != end; at.increment(failed)) {
    if (is_temporary_name(at->path().filename().native())) found.push_back(at->path());
  }
  for (const Path& path : found) remove_if_stale(path);
}

void remove_temporaries_on_signals() {
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    struct sigaction before {};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_IGN) continue;  // as under nohup
    struct sigaction action {};
    action.sa_handler = remove_all_and_end;
    action.sa_flags = SA_RESETHAND | SA_NODEFER;
    ::sigaction(signal, &action, nullptr);
  }
}

}  // namespace zkapex
