// What a client does, in memory: it registers, applies the operator, proves, and checks its own proof. Files are around
// it: parties/register_client.h and parties/client_window.h.
#pragma once

#include "attestation/registration_prover.h"
#include "attestation/window_prover.h"
#include "base/stopwatch.h"
#include "parties/client_model.h"
#include "parties/memory_plan.h"
#include "parties/provider.h"
#include "parties/work.h"
#include "unlearning/apply.h"

namespace zkapex {

// With what there is to commit to the curvature, and the rates of this machine.
[[nodiscard]] Estimate estimate_registration(const Deployment& deployment, const RegistrationPlan& plan,
                                             const WorkSettings& settings);

struct NewRegistration {
  RegistrationFile file;
  Registered registered;
  ProvedRegistration proved;  // blindings and seconds; its proof is in the file
};
// `base`: θ0, where the deployment has an anchor. `scratch`: a folder on disk.
[[nodiscard]] Result<NewRegistration> make_registration(const Deployment& deployment, const BaseRows* base,
                                                        const std::string& client, const RegistrationPlan& plan,
                                                        const ModelReader& model, const Path& scratch,
                                                        const Generators& generators, const WorkSettings& settings);

// A registered client when a window begins. What it points to outlives it.
struct Client {
  const Deployment* deployment;
  ClientRecord record;    // as the provider has it
  CoordinateReader read;  // θ_p
  const StoreReader* store;
  ModelOpenings openings;
};

struct AppliedOperator {
  UnlearnedModel after;
  ObsSummary summary;
};
[[nodiscard]] Result<AppliedOperator> apply_operator(const Client& client, const Mask& mask, const Path& scratch,
                                                     const WorkSettings& settings);

struct ProvedWindow {
  ProofFile file;
  SecretVector<Scalar> blindings;  // of Com(θ_u)
  Timings seconds;                 // of the parts, in order
};
[[nodiscard]] Result<ProvedWindow> attest_window(const Client& client, const Mask& mask, const WindowPlan& plan,
                                                 const UnlearnedModel& after, const Path& scratch,
                                                 const Generators& generators, const WorkSettings& settings,
                                                 Tamper* tamper = nullptr);

// The client's model after the window. Another store than the registered one, or a machine that errs, must not move the
// client to where no provider follows.
[[nodiscard]] Result<ModelCommitment> check_own_proof(const Client& client, const Mask& mask, const ProofFile& file,
                                                      const Generators& generators, ThreadPool& pool);

}  // namespace zkapex
