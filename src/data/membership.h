// Membership inference: can one tell from a model's loss whether it was trained on a sample?
#pragma once

#include <cstdint>
#include <span>

#include "base/result.h"

namespace zkapex {

struct MembershipOptions {
  uint64_t seed = 0;
  int bootstrap = 1000;  // resamplings behind the interval
  double confidence = 0.95;
  int folds = 5;  // of the classifier's cross-validation
};

struct MembershipResult {
  double auc = 0;                    // of "a smaller loss means a member"; ties count half
  double auc_low = 0, auc_high = 0;  // bootstrap percentile interval
  double advantage = 0;              // |AUC − ½|: an AUC far below one half tells as much
  double accuracy = 0;               // of a logistic regression on the loss, on folds it did not see
  int64_t per_side = 0;              // samples of each kind, after balancing
};

// Losses are clipped to [−100, 100]; of the larger side as many are drawn as the smaller has. Both need at least
// `folds` samples, all losses must be numbers.
[[nodiscard]] Result<MembershipResult> membership_inference(std::span<const double> member_losses,
                                                            std::span<const double> other_losses,
                                                            const MembershipOptions& options = {});

}  // namespace zkapex
