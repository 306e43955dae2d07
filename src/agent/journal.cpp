#include "agent/journal.h"

#include <algorithm>

#include "base/names.h"
#include "base/temporaries.h"

namespace zkapex {

namespace fs = std::filesystem;

std::string_view name(WindowState state) {
  switch (state) {
    case WindowState::kSeen:
      return "seen";
    case WindowState::kComputed:
      return "computed";
    case WindowState::kSubmitted:
      return "submitted";
    case WindowState::kReceived:
      return "received";
    case WindowState::kAccepted:
      return "accepted";
    case WindowState::kRejected:
      break;
  }
  return "rejected";
}

Status Journal::open() const {
  for (const WindowState state : kWindowStates) {
    ZKAPEX_CHECK(make_private_folder(of(state)));
    remove_stale_temporaries(of(state));
  }
  return Done{};
}

Result<std::vector<WindowFolder>> Journal::windows() const {
  std::vector<WindowFolder> out;
  for (const WindowState state : kWindowStates) {
    std::error_code failed;
    for (fs::directory_iterator at(of(state), failed), end; !failed && at != end; at.increment(failed)) {
      if (at->is_directory(failed) && !is_temporary_name(at->path().filename().string()))
        out.push_back({at->path(), state});
    }
    if (failed) return error("cannot read {}: {}", of(state).string(), failed.message());
  }
  std::ranges::sort(out, {}, [](const WindowFolder& window) { return window.id(); });
  return out;
}

WindowFolder Journal::at(std::string_view window, WindowState state) const {
  return {of(state) / file_name_of(window), state};
}

Result<std::optional<WindowFolder>> Journal::find(std::string_view window) const {
  for (const WindowState state : kWindowStates) {
    std::error_code failed;
    WindowFolder folder = at(window, state);
    if (fs::is_directory(folder.folder, failed)) return std::optional(std::move(folder));
    if (failed && failed != std::errc::no_such_file_or_directory)
      return error("cannot read {}: {}", folder.folder.string(), failed.message());
  }
  return std::optional<WindowFolder>();
}

Status Journal::move(WindowFolder& window, WindowState state) const {
  const Path to = of(state) / window.id();
  std::error_code failed;
  fs::rename(window.folder, to, failed);
  if (failed) return error("cannot rename {} to {}: {}", window.folder.string(), to.string(), failed.message());
  ZKAPEX_CHECK(flush_folder_of(to));
  ZKAPEX_CHECK(flush_folder_of(window.folder));
  window = {to, state};
  return Done{};
}

}  // namespace zkapex
