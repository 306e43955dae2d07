// Whether a checkpoint is the model that a client is committed to.
#pragma once

#include "parties/pending.h"

namespace zkapex {

struct OpensReport {
  bool settled = false;           // it opens the client's settled state
  std::vector<Attempt> attempts;  // pending ones whose state it opens
  History windows;                // settled so far
  std::string difference;         // why it does not open the settled state: names the first tensor

  [[nodiscard]] bool any() const { return settled || !attempts.empty(); }
};

// Commits again to every row of the checkpoint, covered or not, with the blindings that the client keeps, and compares
// with the points that it is committed to. Equal points mean equal weights in fixed point.
[[nodiscard]] Result<OpensReport> what_it_opens(const Path& client, const Path& model, const WorkSettings& settings);

}  // namespace zkapex
