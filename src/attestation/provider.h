// The provider's side: from files to verdicts. Nothing in them is trusted but the deployment and the mask, which are
// the provider's own.
#pragma once

#include "argument/generators.h"
#include "argument/verifier.h"
#include "attestation/files.h"
#include "attestation/window_statement.h"

namespace zkapex {

// What the provider has of a client when a window is judged. All of it is its own record.
struct ClientRecord {
  Registered registered;
  ModelCommitment current;        // the client's model before the window
  std::optional<Mask> last_mask;  // of its last window; none where there was no window yet
};

// What is due is for the provider to say, not for the client's file.
struct Policy {
  Operator op = Operator::kGroupObs;
  bool allow_uncertified = false;  // accept a curvature whose range is not proved, and certify no error then
};
[[nodiscard]] Verdict check_policy(const Policy& policy, const Registered& registered, const ProofFile& file);

// With `proved` the range proof is checked; without it the file's commitments are taken as they are, for a registration
// that was verified before.
[[nodiscard]] Result<Registered, Rejection> open_registration(const Deployment& deployment,
                                                              const RegistrationFile& file, bool proved,
                                                              const Generators& generators, ThreadPool& pool);

// The two halves of it: the file's commitments, taken as they are, and what must add up to the identity for the range
// proof to hold, to be settled together with other sums.
[[nodiscard]] Result<Registered, Rejection> assume_registration(const Deployment& deployment,
                                                                const RegistrationFile& file, ThreadPool& pool);
[[nodiscard]] Result<PointSum, Rejection> check_registration_file(const Deployment& deployment,
                                                                  const RegistrationFile& file, ThreadPool& pool);

// What a proof of the client's window is about.
[[nodiscard]] WindowStatement window_statement(const Deployment& deployment, const Registered& registered,
                                               const ModelCommitment& current, const Mask& mask);

// What must add up to the identity for the proof to hold.
[[nodiscard]] Result<PointSum, Rejection> check_window_file(const Deployment& deployment, const ClientRecord& client,
                                                            const Mask& mask, const ProofFile& file, ThreadPool& pool);
[[nodiscard]] Verdict verify_window_file(const Deployment& deployment, const ClientRecord& client, const Mask& mask,
                                         const ProofFile& file, const Generators& generators, ThreadPool& pool);

// The client's model after an accepted window: the next `current`.
[[nodiscard]] Result<ModelCommitment, Rejection> next_model(const Deployment& deployment,
                                                            const ModelCommitment& current, const Mask& mask,
                                                            const ProofFile& file, ThreadPool& pool);

}  // namespace zkapex
