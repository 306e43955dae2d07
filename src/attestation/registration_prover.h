// The prover of a registration: commits to θ_p and C_p and proves their ranges, a unit in memory at a time.
#pragma once

#include "argument/prover.h"
#include "attestation/model_reader.h"
#include "attestation/registration_relation.h"

namespace zkapex {

struct ProvedRegistration {
  Proof proof;
  std::vector<EncodedPoint> curvature;  // without a certificate: the statement's rows
  SecretVector<Scalar> model_blindings, curvature_blindings;
  double commit_curvature_seconds = 0;  // to C_p itself or, for a certificate, to its bits
  double certificate_seconds = 0;       // for the proof of its range
};

// `statement.curvature` is left empty by the caller. `bits_in_memory`: how many bytes of bit rows are committed at a
// time; more of them share tables.
[[nodiscard]] Result<ProvedRegistration> prove_registration(RegistrationStatement statement,
                                                            const RegistrationPlan& plan, const ModelReader& reader,
                                                            size_t bits_in_memory, const Generators& generators,
                                                            ThreadPool& pool, ProveOptions options = {});

}  // namespace zkapex
