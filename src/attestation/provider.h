// The provider's side: from files to verdicts. Nothing in them is trusted but the deployment and the mask, which are
// the provider's own.
#pragma once

#include "argument/generators.h"
#include "argument/verifier.h"
#include "attestation/files.h"
#include "attestation/window_statement.h"

namespace zkapex {

// A registration that was verified: what windows are verified against.
struct Registered {
  Sha256::Digest digest{};
  std::string client;
  bool certificate = false;  // without one, every verdict says "curvature assumed, not proved"
  std::vector<EncodedPoint> unchanged, curvature;
  ModelCommitment model;  // Com(θ_p) as registered
};

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

// `current`: the client's model before the window. What must add up to the identity.
[[nodiscard]] Result<PointSum, Rejection> check_window_file(const Deployment& deployment, const Registered& registered,
                                                            const ModelCommitment& current, const Mask& mask,
                                                            const ProofFile& file, ThreadPool& pool);
[[nodiscard]] Verdict verify_window_file(const Deployment& deployment, const Registered& registered,
                                         const ModelCommitment& current, const Mask& mask, const ProofFile& file,
                                         const Generators& generators, ThreadPool& pool);

// The client's model after an accepted window: the next `current`.
[[nodiscard]] Result<ModelCommitment, Rejection> next_model(const Deployment& deployment,
                                                            const ModelCommitment& current, const Mask& mask,
                                                            const ProofFile& file, ThreadPool& pool);

}  // namespace zkapex
