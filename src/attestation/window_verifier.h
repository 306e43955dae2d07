// The verifier of a window: what an accepted proof means is in docs/protocol.md, "The window".
#pragma once

#include "argument/verifier.h"
#include "attestation/window_statement.h"

namespace zkapex {

// Steps 1 to 6 on the sealed messages; the rows it names are the bit rows of the proof, then the model's, then the
// curvature's.
[[nodiscard]] OpeningClaim replay_window(const WindowStatement& statement, const WindowPlan& plan,
                                         const ProofShape& shape, const Proof& proof, Transcript& main);

// What must add up to the identity. Rows of the statement are decoded too: nothing is trusted.
[[nodiscard]] Result<PointSum, Rejection> check_window(const WindowStatement& statement, const WindowPlan& plan,
                                                       const Proof& proof, ThreadPool& pool);

// Com(θ_u), which follows from the bit rows.
[[nodiscard]] Result<std::vector<EncodedPoint>, Rejection> unlearned_rows(const WindowPlan& plan, const Proof& proof,
                                                                          ThreadPool& pool);

}  // namespace zkapex
