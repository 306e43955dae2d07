// A client's update, from files to files: it has learned on, and shows that it keeps what its windows did.
//   CLIENT/pending-update/ATTEMPT/   secret.zka (the state if it is accepted), update.zka, updated.zka
// Like a window it is pending until it is settled: parties/settle.h.
#pragma once

#include "parties/client_window.h"

namespace zkapex {

struct UpdateRequest {
  Path client;  // folder
  Path model;   // the new checkpoint
  Path store;   // its curvature; empty: the one that is committed stays
  Path base;    // θ0, where the deployment has an anchor
  Path out;
  std::function<void()> between_changes = {};  // called between any two changes on disk
};
struct UpdateReport {
  Sha256::Digest update{};  // digest of the file
  std::string attempt;
  size_t update_bytes = 0;
  Sha256::Digest update_sha256{};
  Timings seconds;
};
// What an update would take; nothing is written.
[[nodiscard]] Result<Estimate> estimate_updating(const UpdateRequest& request, const WorkSettings& settings);
// Refused, with a sentence: a model that is not where the anchor and past windows allow.
[[nodiscard]] Result<UpdateReport> update(const UpdateRequest& request, const WorkSettings& settings);

}  // namespace zkapex
