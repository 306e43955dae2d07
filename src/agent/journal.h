// Windows and how far they are. The state of a window is the folder that its own folder lies in, so that a change of
// state is one rename, which has happened or has not:
//   seen        Ψ and its logged entry were checked
//   computed    model and proof are here, and the client's state after them is pending
//   submitted   the provider knows of the proof
//   received    the provider has signed that it holds the proof
//   accepted    a logged verdict says so; the pending state is the client's own
//   rejected    a logged verdict says so, or it was not handed in before the deadline; the pending state is gone, or
//   aside
// Files that a step writes are in place before the rename that ends it, and a step that runs again writes them again.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/files.h"

namespace zkapex {

enum class WindowState { kSeen, kComputed, kSubmitted, kReceived, kAccepted, kRejected };
inline constexpr std::array kWindowStates = {WindowState::kSeen,     WindowState::kComputed, WindowState::kSubmitted,
                                             WindowState::kReceived, WindowState::kAccepted, WindowState::kRejected};

[[nodiscard]] std::string_view name(WindowState state);
[[nodiscard]] inline bool is_settled(WindowState state) {
  return state == WindowState::kAccepted || state == WindowState::kRejected;
}

struct WindowFolder {
  Path folder;
  WindowState state = WindowState::kSeen;

  [[nodiscard]] std::string id() const { return folder.filename().string(); }  // the window's, as a file name
  [[nodiscard]] Path entry() const { return folder / "window.json"; }
  [[nodiscard]] Path inclusion() const { return folder / "window.tlog-proof"; }
  [[nodiscard]] Path psi() const { return folder / "psi.zka"; }
  [[nodiscard]] Path model() const { return folder / "unlearned.safetensors"; }
  [[nodiscard]] Path proof() const { return folder / "proof.zka"; }
  [[nodiscard]] Path submission() const { return folder / "submission.json"; }
  [[nodiscard]] Path upload_receipt() const { return folder / "received.json"; }
  [[nodiscard]] Path verdict() const { return folder / "verdict.json"; }
  [[nodiscard]] Path receipt() const { return folder / "verdict.tlog-proof"; }
  [[nodiscard]] Path refusal() const { return folder / "refusal.json"; }
  [[nodiscard]] Path aside() const {
    return folder / "set-aside";
  }  // what belongs to a proof that was sent and refused
};

class Journal {
 public:
  explicit Journal(Path folder) : folder_(std::move(folder)) {}

  // Makes the folders of the states, and removes what killed processes left. For whoever holds the agent's lock.
  [[nodiscard]] Status open() const;
  // All windows, by name.
  [[nodiscard]] Result<std::vector<WindowFolder>> windows() const;
  // The window of that name, whatever its state.
  [[nodiscard]] Result<std::optional<WindowFolder>> find(std::string_view window) const;
  // Where the folder of a window is in a state, whether it is there or not.
  [[nodiscard]] WindowFolder at(std::string_view window, WindowState state) const;
  [[nodiscard]] Status move(WindowFolder& window, WindowState state) const;

 private:
  [[nodiscard]] Path of(WindowState state) const { return folder_ / name(state); }

  Path folder_;
};

}  // namespace zkapex
