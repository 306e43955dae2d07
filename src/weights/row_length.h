// How long rows are where a deployment does not say.
#pragma once

#include <cstdint>

namespace zkapex {

// The smallest power of two n with n² >= 256 · covered weights, from 256 to 2^17: a proof then has about as many row
// commitments as a row has entries, so neither the rows nor the inner product outweighs the other. Never below the
// block's stride.
[[nodiscard]] uint64_t default_row_length(uint64_t block, uint64_t covered_weights);

}  // namespace zkapex
