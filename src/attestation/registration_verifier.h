// The verifier of a registration.
#pragma once

#include "attestation/registration_relation.h"

namespace zkapex {

// What must add up to the identity.
[[nodiscard]] inline Result<PointSum, Rejection> check_registration(const RegistrationStatement& statement,
                                                                    const RegistrationPlan& plan, const Proof& proof,
                                                                    ThreadPool& pool) {
  return check(RegistrationRelation(statement, plan), proof, pool);
}

// The commitments that a registration establishes.
struct RegisteredRows {
  std::vector<EncodedPoint> model;      // Com(θ_p), covered rows
  std::vector<EncodedPoint> curvature;  // Com(C_p)
  std::vector<EncodedPoint> unchanged;  // of the tensors that no operator touches
};
[[nodiscard]] RegisteredRows registered_rows(const RegistrationPlan& plan, const Proof& proof);

}  // namespace zkapex
