// The prover of a window: follows docs/window.md, sections 1 to 5, one segment in memory at a time.
#pragma once

#include <functional>

#include "attestation/window_bits.h"
#include "attestation/window_relation.h"

namespace zkapex {

struct WindowProof {
  Proof proof;
  SecretVector<Scalar> blindings;                  // of Com(θ_u): the openings of the next window
  double commit_seconds = 0, project_seconds = 0;  // parts of it all
};

// An error, never a proof, if the witness does not meet the relation.
[[nodiscard]] Result<WindowProof> prove_window(const WindowStatement& statement, const WindowPlan& plan,
                                               const WindowBits& bits, const ModelReader& before,
                                               const ModelOpenings& openings, const Generators& generators,
                                               ThreadPool& pool, ProveOptions options = {});

}  // namespace zkapex
