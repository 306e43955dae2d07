#include "attestation/provider.h"

#include <algorithm>

#include "attestation/registration_verifier.h"
#include "attestation/window_verifier.h"

namespace zkapex {

namespace {

Result<RegistrationPlan, Rejection> plan_of(const Deployment& deployment, const RegistrationFile& file) {
  if (file.deployment != deployment.digest()) {
    return Rejection{Reason::kDeployment, "the registration was made for another deployment"};
  }
  Result<RegistrationPlan> plan = RegistrationPlan::make(deployment, file.certificate, file.cut);
  if (!plan) return Rejection{Reason::kStatement, plan.error().message};
  return *std::move(plan);
}

Result<WindowPlan, Rejection> plan_of(const Deployment& deployment, const Mask& mask, const ProofFile& file) {
  if (file.deployment != deployment.digest())
    return Rejection{Reason::kDeployment, "the proof was made for another deployment"};
  if (const Status fits = mask.check_for(deployment); !fits) return Rejection{Reason::kMask, fits.error().message};
  if (file.mask != mask.digest() || file.window != mask.window) {
    return Rejection{Reason::kMask, "the proof was made for another mask"};
  }
  Result<WindowPlan> plan = WindowPlan::make(deployment, mask, file.op, file.segmentation);
  if (!plan) return Rejection{Reason::kStatement, plan.error().message};
  return *std::move(plan);
}

}  // namespace

Result<PointSum, Rejection> check_registration_file(const Deployment& deployment, const RegistrationFile& file,
                                                    ThreadPool& pool) {
  ZKAPEX_TRY(const RegistrationPlan plan, plan_of(deployment, file));
  ZKAPEX_TRY(const Proof proof, Proof::decode(file.proof, plan.shape()));
  return check_registration({&deployment, file.client, file.unchanged, file.curvature}, plan, proof, pool);
}

Result<Registered, Rejection> assume_registration(const Deployment& deployment, const RegistrationFile& file,
                                                  ThreadPool& pool) {
  ZKAPEX_TRY(const RegistrationPlan plan, plan_of(deployment, file));
  ZKAPEX_TRY(const Proof proof, Proof::decode(file.proof, plan.shape()));
  const RegistrationStatement statement{&deployment, file.client, file.unchanged, file.curvature};
  ZKAPEX_TRY(RegisteredRows rows, registered_rows(statement, plan, proof, pool));
  const Sha256::Digest digest = file.digest();
  return Registered{digest,
                    file.client,
                    file.certificate,
                    file.unchanged,
                    std::move(rows.curvature),
                    {digest, {}, std::move(rows.model)}};
}

Result<Registered, Rejection> open_registration(const Deployment& deployment, const RegistrationFile& file, bool proved,
                                                const Generators& generators, ThreadPool& pool) {
  if (proved) {
    ZKAPEX_TRY(const PointSum sum, check_registration_file(deployment, file, pool));
    if (Verdict verdict = verdict_var(sum, generators, pool); !verdict) return verdict.error();
  }
  return assume_registration(deployment, file, pool);
}

Result<PointSum, Rejection> check_window_file(const Deployment& deployment, const Registered& registered,
                                              const ModelCommitment& current, const Mask& mask, const ProofFile& file,
                                              ThreadPool& pool) {
  ZKAPEX_TRY(const WindowPlan plan, plan_of(deployment, mask, file));
  if (file.client != registered.client) return Rejection{Reason::kClient, "the proof is of another client"};
  if (file.registration != registered.digest || current.registration != registered.digest) {
    return Rejection{Reason::kRegistration, "the proof or the model commitment belongs to another registration"};
  }
  if (std::find(current.windows.begin(), current.windows.end(), mask.window) != current.windows.end()) {
    return Rejection{Reason::kWindow, "this window was applied already"};
  }
  if (file.model != current.digest())
    return Rejection{Reason::kModel, "the proof starts from another model than the client's current one"};
  ZKAPEX_TRY(const Proof proof, Proof::decode(file.proof, plan.shape()));
  const WindowStatement statement{&deployment,         &mask,        registered.client,
                                  registered.digest,   current.rows, registered.curvature,
                                  registered.unchanged};
  return check_window(statement, plan, proof, pool);
}

Verdict verify_window_file(const Deployment& deployment, const Registered& registered, const ModelCommitment& current,
                           const Mask& mask, const ProofFile& file, const Generators& generators, ThreadPool& pool) {
  ZKAPEX_TRY(const PointSum sum, check_window_file(deployment, registered, current, mask, file, pool));
  return verdict_var(sum, generators, pool);
}

Result<ModelCommitment, Rejection> next_model(const Deployment& deployment, const ModelCommitment& current,
                                              const Mask& mask, const ProofFile& file, ThreadPool& pool) {
  ZKAPEX_TRY(const WindowPlan plan, plan_of(deployment, mask, file));
  ZKAPEX_TRY(const Proof proof, Proof::decode(file.proof, plan.shape()));
  ZKAPEX_TRY(std::vector<EncodedPoint> rows, unlearned_rows(plan, proof, pool));
  ModelCommitment next{current.registration, current.windows, std::move(rows)};
  next.windows.push_back(mask.window);
  return next;
}

}  // namespace zkapex
