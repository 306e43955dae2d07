// The provider's side: from files to verdicts. Nothing in them is trusted but the deployment and the mask, which are
// the provider's own.
#pragma once

#include "argument/generators.h"
#include "argument/verifier.h"
#include "attestation/files.h"
#include "attestation/registration_relation.h"
#include "attestation/window_statement.h"

namespace zkapex {

// What the provider has of a client when a window is judged. All of it is its own record.
struct ClientRecord {
  Registered registered;          // as the last update left it
  ModelCommitment current;        // the client's model before the window
  std::optional<Mask> last_mask;  // of its last window; none where there was no window yet
};

// One of the client's windows, for updates.
struct KeptWindow {
  Mask mask;
  std::vector<EncodedPoint> before;  // of a guided one: the commitment to the model that it started from
};

// The file's commitments, taken as they are: of a registration that was verified before, or is one's own.
[[nodiscard]] Result<Registered, Rejection> assume_registration(const Deployment& deployment,
                                                                const RegistrationFile& file);
// The same, and what must add up to the identity for the proof to hold.
struct CheckedRegistration {
  Registered registered;
  PointSum sum;
};
// `base`: θ0, where the deployment has an anchor.
[[nodiscard]] Result<CheckedRegistration, Rejection> check_registration_file(const Deployment& deployment,
                                                                             const BaseRows* base,
                                                                             const RegistrationFile& file,
                                                                             ThreadPool& pool);
[[nodiscard]] Result<Registered, Rejection> verify_registration_file(const Deployment& deployment, const BaseRows* base,
                                                                     const RegistrationFile& file,
                                                                     const Generators& generators, ThreadPool& pool);

// What a proof of the client's window is about.
[[nodiscard]] WindowStatement window_statement(const Deployment& deployment, const Registered& registered,
                                               const ModelCommitment& current, const Mask& mask);

// Where the window leads, and what must add up to the identity for its proof to hold.
struct CheckedWindow {
  ModelCommitment next;
  PointSum sum;
};
[[nodiscard]] Result<CheckedWindow, Rejection> check_window_file(const Deployment& deployment,
                                                                 const ClientRecord& client, const Mask& mask,
                                                                 const ProofFile& file, ThreadPool& pool);
// The client's model after the window: the next `current`.
[[nodiscard]] Result<ModelCommitment, Rejection> verify_window_file(const Deployment& deployment,
                                                                    const ClientRecord& client, const Mask& mask,
                                                                    const ProofFile& file, const Generators& generators,
                                                                    ThreadPool& pool);

// What an update of the client is held to. `windows` are those of the current model, in order, and outlive it.
[[nodiscard]] UpdateTerms update_terms(const ClientRecord& client, std::span<const KeptWindow> windows, bool curvature);

// Where the update leads, what windows are verified against from then on, and what must add up to the identity.
struct CheckedUpdate {
  Registered registered;
  ModelCommitment next;
  PointSum sum;
};
// `base`: θ0, where the deployment has an anchor.
[[nodiscard]] Result<CheckedUpdate, Rejection> check_update_file(const Deployment& deployment, const BaseRows* base,
                                                                 const ClientRecord& client,
                                                                 std::span<const KeptWindow> windows,
                                                                 const UpdateFile& file, ThreadPool& pool);

}  // namespace zkapex
