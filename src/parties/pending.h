// Windows that a client has computed and that nobody has settled yet:
//   CLIENT/pending/WINDOW/ATTEMPT/   secret.zka (the state if it is accepted), proof.zka, mask.zka
// A window may be computed again while it is pending: any of its attempts may be the one that the provider got, and all
// start from the client's settled state. WINDOW is its identifier as the name of a file, ATTEMPT the beginning of the
// SHA-256 of the proof file.
#pragma once

#include <functional>

#include "parties/client_window.h"

namespace zkapex {

struct Attempt {
  Path folder;
  std::string id;
  std::string window;

  [[nodiscard]] Path secret() const { return folder / "secret.zka"; }
  [[nodiscard]] Path proof() const { return folder / "proof.zka"; }
  [[nodiscard]] Path mask() const { return folder / "mask.zka"; }
};

[[nodiscard]] std::string attempt_id(ByteView proof_file);

// By window, then by id.
[[nodiscard]] Result<std::vector<Attempt>> pending_attempts(const ClientFolder& client);

// Ids of the updates that are pending, in order.
[[nodiscard]] Result<std::vector<std::string>> pending_updates(const ClientFolder& client);

// An attempt whose files are on disk under a temporary name.
class PendingAttempt {
 public:
  static Result<PendingAttempt> prepare(const ClientFolder& client, const WindowInputs& inputs,
                                        const ComputedWindow& computed);

  // It appears with all its files.
  [[nodiscard]] Status commit() { return folder_.commit(); }
  [[nodiscard]] const Attempt& attempt() const { return attempt_; }

 private:
  PendingAttempt(Attempt attempt, TemporaryFolder folder) : attempt_(std::move(attempt)), folder_(std::move(folder)) {}

  Attempt attempt_;
  TemporaryFolder folder_;
};

}  // namespace zkapex
