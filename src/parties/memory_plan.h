// How much memory work takes at its worst moment, and how it is cut to stay within a budget. Figures are sums over what
// is held at a time, rounded up: what is measured stays below them, or a few hundredths above where memory is short.
#pragma once

#include "attestation/registration_plan.h"
#include "attestation/window_plan.h"
#include "parties/work.h"
#include "unlearning/mask.h"

namespace zkapex {

// The client's steps of a window that is cut like the plan, its check of its own proof included. `masked`: coordinates
// of the mask; the plan's own may be left out.
[[nodiscard]] uint64_t window_memory(const Deployment& deployment, const WindowPlan& plan, uint64_t masked,
                                     unsigned threads);
// A registration or an update. To commit to the curvature takes a batch beside what is there from the beginning.
[[nodiscard]] uint64_t registration_memory(const Deployment& deployment, const RegistrationPlan& plan,
                                           unsigned threads);
[[nodiscard]] uint64_t committing_memory(const RegistrationPlan& plan, uint64_t batch, unsigned threads);
// A verifier of proofs of this shape with so many points of the statement beside the proof's own.
[[nodiscard]] uint64_t verifier_memory(const ProofShape& shape, size_t statement_points, unsigned threads);

// An error that says the least that works, unless that fits or no budget was asked for.
[[nodiscard]] Status check_memory(uint64_t least, const WorkSettings& settings);

// In as few parts as the memory allows.
[[nodiscard]] Result<WindowPlan> plan_window(const Deployment& deployment, const Mask& mask,
                                             const WorkSettings& settings);
[[nodiscard]] Result<RegistrationPlan> plan_registration(const Deployment& deployment, const WorkSettings& settings,
                                                         const UpdateTerms* update = nullptr);
// What verifying proofs of this mask takes, one at a time, if their clients proved with the usual memory or more.
[[nodiscard]] Result<uint64_t> verifying_memory(const Deployment& deployment, const Mask& mask,
                                                const WorkSettings& settings);
// The same for registrations; updates take less.
[[nodiscard]] Result<uint64_t> admitting_memory(const Deployment& deployment, const WorkSettings& settings);
// What there is to commit to the curvature with.
[[nodiscard]] uint64_t registration_batch(const Deployment& deployment, const RegistrationPlan& plan,
                                          const WorkSettings& settings);

}  // namespace zkapex
