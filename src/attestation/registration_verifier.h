// The verifier of a registration.
#pragma once

#include "argument/verifier.h"
#include "attestation/registration_statement.h"

namespace zkapex {

[[nodiscard]] OpeningClaim replay_registration(const RegistrationStatement& statement, const RegistrationPlan& plan,
                                               const ProofShape& shape, const Proof& proof, Transcript& main);

// What must add up to the identity; the rows it names are the proof's bit rows.
[[nodiscard]] Result<PointSum, Rejection> check_registration(const RegistrationStatement& statement,
                                                             const RegistrationPlan& plan, const Proof& proof,
                                                             ThreadPool& pool);

// The commitments that a registration establishes.
struct RegisteredRows {
  std::vector<EncodedPoint> model;      // Com(θ_p), covered rows
  std::vector<EncodedPoint> curvature;  // Com(C_p)
};
[[nodiscard]] Result<RegisteredRows, Rejection> registered_rows(const RegistrationStatement& statement,
                                                                const RegistrationPlan& plan, const Proof& proof,
                                                                ThreadPool& pool);

}  // namespace zkapex
