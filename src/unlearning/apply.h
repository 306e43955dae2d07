// The operator on the whole model: every Fisher block of a client, in parallel, in bounded memory.
#pragma once

#include <functional>

#include "base/threads.h"
#include "curvature/store.h"
#include "unlearning/group_obs.h"
#include "unlearning/mask.h"
#include "unlearning/rules.h"
#include "weights/checkpoint.h"

namespace zkapex {

// The header that a store for this deployment has, and nothing else will do.
[[nodiscard]] StoreHeader store_header_for(const Deployment& deployment);

// Puts the weights of one Fisher block, as many as it has, into the span. Called from any thread.
using BlockReader = std::function<Status(uint64_t block, std::span<int64_t> theta)>;
// Gets every block, changed or not, in order, from the calling thread.
using BlockSink = std::function<Status(uint64_t block, std::span<const int64_t> theta, const ObsOutcome& outcome)>;

// The covered weights of a checkpoint, which must outlive the reader and have the tensors of the layout.
[[nodiscard]] Result<BlockReader> checkpoint_blocks(const Deployment& deployment, const Checkpoint& checkpoint);

struct ObsSummary {
  uint64_t blocks = 0, masked_blocks = 0;
  uint64_t double_precision = 0, nearest_plane = 0;  // blocks that needed it
  Wide largest_residual;                             // to be compared with Y_blk
  RuleSums sums;                                     // over the model
  std::vector<RuleSums> groups;                      // over each of row_groups()
};

// Group-OBS, or guided. Refused: a mask or a store that belongs to another deployment, and a block whose solution does
// not meet the bound. Whether the step meets the request's rules is for check_rules to say. The results do not depend
// on the number of threads.
Result<ObsSummary> apply_group_obs(const Deployment& deployment, const Mask& mask, const StoreReader& store,
                                   const BlockReader& read, const BlockSink& sink, ThreadPool& pool);

}  // namespace zkapex
