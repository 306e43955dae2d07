// The prover of a registration: commits to θ_p, C_p and the tensors that are not covered, and proves their ranges.
#pragma once

#include "argument/prover.h"
#include "attestation/model_reader.h"
#include "attestation/registration_relation.h"

namespace zkapex {

struct ProvedRegistration {
  Proof proof;
  SecretVector<Scalar> model_blindings, curvature_blindings, unchanged_blindings;
  double commit_model_seconds = 0, commit_curvature_seconds = 0, project_seconds = 0;  // parts of it all
};

// `batch_bytes`: how much of the curvature is committed at a time; more of it shares tables.
[[nodiscard]] Result<ProvedRegistration> prove_registration(const RegistrationStatement& statement,
                                                            const RegistrationPlan& plan, const ModelReader& reader,
                                                            size_t batch_bytes, const Generators& generators,
                                                            ThreadPool& pool, ProveOptions options = {});

}  // namespace zkapex
