// The prover of anchored rows: see anchored_rows.h.
#pragma once

#include "argument/prover.h"
#include "attestation/anchored_rows.h"

namespace zkapex {

// Adds Σ (s − a)² over the unit's rows to the sum of their group; any integers.
[[nodiscard]] Status add_distances(const AnchoredUnit& unit, const RowReader& rows, const RowReader& reference,
                                   ThreadPool& pool, std::span<Wide> sums);

// One unit on its fork: one product, and one pair. Differences s − a fit 64 bits. `blindings`: of the unit's rows.
[[nodiscard]] Status prove_anchored(const AnchoredUnit& unit, std::span<const Scalar> powers, const RowReader& rows,
                                    const RowReader& reference, std::span<const Scalar> blindings, Sender& channel,
                                    ArgumentProver& prover);

// The slacks on theirs: one product, and one pair.
[[nodiscard]] Status prove_slacks(const SlackRows& slacks, const SlackBits& bits, std::span<const Scalar> powers,
                                  std::span<const Scalar> blindings, Sender& channel, ArgumentProver& prover);

}  // namespace zkapex
