// The state of a client is a folder:
//   deployment.zka     a copy of the provider's
//   registration.zka   public: commitments and range proof
//   secret.zka         private: integers and openings, replaced as a whole by every window that was accepted
//   mask.zka           of the last of these windows, which later masks must contain
//   settled-proof.zka  the proof of that window that was accepted
//   updated.zka        what windows start from since the last update that was accepted: its rows
//   past/DIGEST/       mask.zka of each settled window, by its digest, and secret.zka from before it if it had a guide:
//                      updates show that they keep what it did
//   pending/           what windows left that are not settled yet: see parties/pending.h
//   pending-update/    the same of updates: see parties/update.h
#pragma once

#include "base/files.h"
#include "base/hash.h"

namespace zkapex {

struct ClientFolder {
  Path folder;
  [[nodiscard]] Path deployment() const { return folder / "deployment.zka"; }
  [[nodiscard]] Path registration() const { return folder / "registration.zka"; }
  [[nodiscard]] Path secret() const { return folder / "secret.zka"; }
  [[nodiscard]] Path mask() const { return folder / "mask.zka"; }
  [[nodiscard]] Path settled_proof() const { return folder / "settled-proof.zka"; }
  [[nodiscard]] Path updated() const { return folder / "updated.zka"; }
  [[nodiscard]] Path past() const { return folder / "past"; }
  [[nodiscard]] Path past(const Sha256::Digest& mask) const { return past() / to_hex(mask); }
  [[nodiscard]] Path pending() const { return folder / "pending"; }
  [[nodiscard]] Path pending_updates() const { return folder / "pending-update"; }
  [[nodiscard]] Path settling() const { return folder / "settling"; }  // while an attempt becomes the state
};

}  // namespace zkapex
