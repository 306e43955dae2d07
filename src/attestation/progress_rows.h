// "Committed rows still follow a guide": Σ Δ (s − p) is not lost, s being the entries of a model and p those of the
// model before a window, both committed (docs/window.md, section 8). A part beside anchored_rows.h, with slacks among
// the same:
//
//   forks   one for each window and unit of rows: K = 1000 Σ_i W(i) Δ(i) (p(i) − s(i))
//   main    equation: Σ K + S = −Σ_k γ^k π ΣΔ²
#pragma once

#include "attestation/anchored_rows.h"

namespace zkapex {

struct ProgressUnit {
  size_t window = 0;        // of UpdateTerms
  size_t first_before = 0;  // the number of the first of its rows of p, among the relation's points
  AnchoredUnit rows;
};

// The verifier on one unit: K.
[[nodiscard]] Expression replay_progress(const ProgressUnit& unit, std::span<const Scalar> powers,
                                         const RowReader& guide, Receiver& channel, ArgumentVerifier& verifier);

}  // namespace zkapex
