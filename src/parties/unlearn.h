// A client's window, from files to files.
#pragma once

#include "parties/pending.h"
#include "parties/unlearned_file.h"

namespace zkapex {

struct UnlearnRequest {
  Path client;  // folder
  Path mask;
  Path model_out, proof_out;
  Path model, store;  // where they are now, if not where they were at registration; empty otherwise
  Decimal max_guide = kMaxGuide;
  std::function<void()> between_changes = {};  // called between any two changes on disk at the end
};
struct UnlearnReport {
  Operator op = Operator::kGroupObs;
  ObsSummary summary;
  Attempt attempt;
  uint64_t masked = 0;
  size_t proof_bytes = 0;
  Sha256::Digest proof_sha256{};  // of the file
  std::vector<Widened> widened;
  Timings seconds;
};
// What that would take; nothing is written.
[[nodiscard]] Result<Estimate> estimate_unlearning(const UnlearnRequest& request, const WorkSettings& settings);
// The client's state stays where it is: the state after the window is kept as a pending attempt until it is settled.
// Outputs can be written before any work is done, and appear only when the attempt is safe on disk.
[[nodiscard]] Result<UnlearnReport> unlearn(const UnlearnRequest& request, const WorkSettings& settings);

}  // namespace zkapex
