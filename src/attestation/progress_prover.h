// The prover of progress that is kept: see progress_rows.h.
#pragma once

#include "argument/prover.h"
#include "attestation/known_rows.h"
#include "attestation/progress_rows.h"
#include "unlearning/rules.h"

namespace zkapex {

// `before`: the model before a guided window. Adds Σ Δ (s − p) and ΣΔ² over the unit's rows to the sums of their group,
// by `first_group`.
[[nodiscard]] Status add_progress(const ProgressUnit& unit, const RowReader& rows, const EarlierModel& before,
                                  const RowReader& guide, ThreadPool& pool, size_t first_group,
                                  std::span<RuleSums> sums);

// One unit on its fork: one pair. `blindings`: of the unit's rows.
[[nodiscard]] Status prove_progress(const ProgressUnit& unit, std::span<const Scalar> powers, const RowReader& rows,
                                    const EarlierModel& before, const RowReader& guide,
                                    std::span<const Scalar> blindings, Sender& channel, ArgumentProver& prover);

}  // namespace zkapex
