// What becomes of a pending window or update, once the provider has said whether it accepts it.
#pragma once

#include "parties/pending.h"

namespace zkapex {

struct SettleRequest {
  Path client;  // folder
  bool accepted = false;
  std::string window;  // empty: the only one that is pending
  Path proof;          // the proof file that was sent, where a window was computed more than once; empty otherwise
  bool all = false;    // rejected: all attempts of the window
  std::function<void()> between_changes = {};  // called between any two changes on disk
};
struct SettleReport {
  std::string window;
  bool before = false;                // it was accepted by an earlier call
  std::vector<std::string> attempts;  // ids: the accepted one, or those that were removed
  std::vector<std::string> dropped;   // windows with attempts that can never be accepted now, and went
  History windows;                    // the client's now
};

// Accepted: the attempt becomes the client's state and its mask the last mask; all other attempts, which start from the
// state before and can never be accepted, go. So do the old weights, unless the window had a guide: an update shows
// that it keeps the progress from there. Rejected: the attempt goes, and the state
// stays. Which attempt it is must be said where there are several: another one may be what the provider accepted.
// Stopped at any point, the same call goes on.
[[nodiscard]] Result<SettleReport> settle(const SettleRequest& request);

struct SettleUpdateRequest {
  Path client;  // folder
  bool accepted = false;
  Path update;  // the file that was sent, where several are pending; empty otherwise
  std::function<void()> between_changes = {};
};
struct SettleUpdateReport {
  std::vector<std::string> attempts;  // ids: the accepted one, or those that were removed
  Sha256::Digest update{};            // the client's last one now
  bool before = false;                // an earlier call has settled it
};
// The same of an update. Others that are pending started from the state before: accepted, they go.
[[nodiscard]] Result<SettleUpdateReport> settle_update(const SettleUpdateRequest& request);

// Finishes a settlement that was stopped, and removes what killed processes left. For whoever holds the folder's lock,
// before anything is read.
[[nodiscard]] Status recover(const ClientFolder& client, const std::function<void()>& between_changes = {});

// An error where writing to `out` would replace a file that is part of the client's state.
[[nodiscard]] Status check_no_client_state(const ClientFolder& client, const Path& out);

}  // namespace zkapex
