// What a request would do to a client's model, before the client decides: the operator without a proof.
#pragma once

#include "parties/client_window.h"
#include "parties/unlearned_file.h"

namespace zkapex {

struct TrialRequest {
  WindowSources sources;
  Path model_out;  // the model that would come out is written there, unless this is empty
};
struct TrialReport {
  Operator op = Operator::kGroupObs;
  uint64_t masked = 0;
  Path model_before;  // the file that the trial starts from
  ObsSummary summary;
  std::vector<FollowedTensor> tensors;
  std::string broken;  // the first rule that does not hold; empty if all do
  std::vector<Widened> widened;
  Timings seconds;
};
// The client's state is not touched, and nothing of the trial is kept but the model that is asked for.
[[nodiscard]] Result<TrialReport> try_unlearning(const TrialRequest& request, const WorkSettings& settings);

}  // namespace zkapex
