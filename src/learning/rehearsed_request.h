// A rehearsal from beginning to end: clients are imagined, a guide is learned or taken from elsewhere, the request is
// tried on them, and its rules are set.
#pragma once

#include "learning/guide_trial.h"
#include "unlearning/mask.h"

namespace zkapex {

struct RehearsalPlan {
  std::vector<std::string> domains;  // of the clients, beside θ0 itself
  RehearsalOptions options;
  std::filesystem::path guide_from;  // a checkpoint that another method has unlearned; empty: the guide is learned
  std::string method;                // its name; empty: that of the rehearsal
  double guide_scale = 1;
  int64_t measured = 1000;  // samples of each set in the trial, at most
};

struct RehearsedRequest {
  Mask request;
  std::vector<ClientTrial> trials;
  double furthest = 0;  // √ΣΔ² / √Σθ0² of the tensor where it is largest
};

// `mask` is the request without a guide; the simulation has what it removes.
[[nodiscard]] Result<RehearsedRequest> rehearse_request(const Simulation& simulation, const Mask& mask,
                                                        const RehearsalData& data, const RehearsalPlan& plan);

}  // namespace zkapex
