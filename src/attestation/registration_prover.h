// The prover of a registration or an update: commits to θ_p, C_p and the tensors that are not covered, and proves their
// ranges and whatever else is asked of them.
#pragma once

#include "argument/prover.h"
#include "attestation/model_reader.h"
#include "attestation/progress_prover.h"
#include "attestation/registration_relation.h"

namespace zkapex {

struct ProvedRegistration {
  Proof proof;
  SecretVector<Scalar> model_blindings, curvature_blindings, unchanged_blindings;
  double commit_model_seconds = 0, commit_curvature_seconds = 0, project_seconds = 0;  // parts of it all
};

// What a row of the curvature takes while many are committed together: points, and sums in every thread.
[[nodiscard]] constexpr uint64_t curvature_row_bytes(uint64_t threads) { return 320 + 360 * threads; }

// `batch_bytes`: memory to commit to the curvature with; rows that are committed together share tables.
[[nodiscard]] Result<ProvedRegistration> prove_registration(const RegistrationStatement& statement,
                                                            const RegistrationPlan& plan, const ModelReader& reader,
                                                            size_t batch_bytes, const Generators& generators,
                                                            ThreadPool& pool, ProveOptions options = {});

// What opens the commitments that an update's statement brings.
struct KnownModels {
  std::vector<EarlierModel> before;  // of each past window; only those of guided ones are looked at
  EarlierModel current;              // that it goes on from
};

[[nodiscard]] Result<ProvedRegistration> prove_update(const RegistrationStatement& statement,
                                                      const RegistrationPlan& plan, const ModelReader& reader,
                                                      const KnownModels& known, size_t batch_bytes,
                                                      const Generators& generators, ThreadPool& pool,
                                                      ProveOptions options = {});

}  // namespace zkapex
