#include "parties/provider.h"

#include <fmt/format.h>

#include "attestation/registration_verifier.h"
#include "attestation/window_verifier.h"

namespace zkapex {

namespace {

// Planned and decoded, once.
struct OpenedRegistration {
  RegistrationPlan plan;
  Proof proof;
  RegistrationStatement statement;
};

Result<OpenedRegistration, Rejection> open(const Deployment& deployment, const RegistrationFile& file) {
  if (file.deployment != deployment.digest()) {
    return Rejection{Reason::kDeployment, "the registration was made for another deployment"};
  }
  Result<RegistrationPlan> plan = RegistrationPlan::make(deployment, file.cut);
  if (!plan) return Rejection{Reason::kStatement, plan.error().message};
  ZKAPEX_TRY(Proof proof, Proof::decode(file.proof, plan->shape()));
  return OpenedRegistration{*std::move(plan), std::move(proof), {&deployment, file.client}};
}

Registered registered_by(const RegistrationFile& file, const OpenedRegistration& opened) {
  RegisteredRows rows = registered_rows(opened.plan, opened.proof);
  const Sha256::Digest digest = file.digest();
  return {
      digest, file.client, std::move(rows.unchanged), std::move(rows.curvature), {digest, {}, std::move(rows.model)}};
}

Result<WindowPlan, Rejection> plan_of(const Deployment& deployment, const Mask& mask, const Sha256::Digest& mask_digest,
                                      const ProofFile& file) {
  if (file.deployment != deployment.digest())
    return Rejection{Reason::kDeployment, "the proof was made for another deployment"};
  if (const Status fits = mask.check_for(deployment); !fits) return Rejection{Reason::kMask, fits.error().message};
  if (file.mask != mask_digest || file.window != mask.window) {
    return Rejection{Reason::kMask, "the proof was made for another mask"};
  }
  Result<WindowPlan> plan = WindowPlan::make(deployment, mask, file.segmentation);
  if (!plan) return Rejection{Reason::kStatement, plan.error().message};
  return *std::move(plan);
}

// A window comes once, and keeps removed what the client's last one removed.
Verdict check_history(const ClientRecord& client, const Mask& mask) {
  const ModelCommitment& current = client.current;
  if (current.windows.empty()) {
    if (current.rows != client.registered.model.rows)
      return Rejection{Reason::kModel, "a model that no window has changed is not the registered one"};
    return Done{};
  }
  if (has_applied(current.windows, mask.window)) return Rejection{Reason::kWindow, "this window was applied already"};
  if (!client.last_mask || client.last_mask->digest() != current.windows.back().mask)
    return Rejection{Reason::kMask, "the mask of the client's last window is not known"};
  if (!mask.contains(*client.last_mask))
    return Rejection{Reason::kMask, "the mask leaves out weights that the client's last one removed"};
  return Done{};
}

}  // namespace

Result<Registered, Rejection> assume_registration(const Deployment& deployment, const RegistrationFile& file) {
  ZKAPEX_TRY(const OpenedRegistration opened, open(deployment, file));
  return registered_by(file, opened);
}

Result<CheckedRegistration, Rejection> check_registration_file(const Deployment& deployment,
                                                               const RegistrationFile& file, ThreadPool& pool) {
  ZKAPEX_TRY(const OpenedRegistration opened, open(deployment, file));
  ZKAPEX_TRY(PointSum sum, check_registration(opened.statement, opened.plan, opened.proof, pool));
  return CheckedRegistration{registered_by(file, opened), std::move(sum)};
}

Result<Registered, Rejection> verify_registration_file(const Deployment& deployment, const RegistrationFile& file,
                                                       const Generators& generators, ThreadPool& pool) {
  ZKAPEX_TRY(CheckedRegistration checked, check_registration_file(deployment, file, pool));
  ZKAPEX_CHECK(verdict_var(checked.sum, generators, pool));
  return std::move(checked.registered);
}

WindowStatement window_statement(const Deployment& deployment, const Registered& registered,
                                 const ModelCommitment& current, const Mask& mask) {
  return {&deployment,      &mask,        registered.client,    registered.digest,
          current.digest(), current.rows, registered.curvature, registered.unchanged};
}

Result<CheckedWindow, Rejection> check_window_file(const Deployment& deployment, const ClientRecord& client,
                                                   const Mask& mask, const ProofFile& file, ThreadPool& pool) {
  const Sha256::Digest mask_digest = mask.digest();  // takes a while
  ZKAPEX_TRY(const WindowPlan plan, plan_of(deployment, mask, mask_digest, file));
  ZKAPEX_CHECK(check_history(client, mask));
  const Registered& registered = client.registered;
  const ModelCommitment& current = client.current;
  if (file.client != registered.client) return Rejection{Reason::kClient, "the proof is of another client"};
  if (file.registration != registered.digest || current.registration != registered.digest) {
    return Rejection{Reason::kRegistration, "the proof or the model commitment belongs to another registration"};
  }
  if (file.model != current.digest())
    return Rejection{Reason::kModel, "the proof starts from another model than the client's current one"};
  ZKAPEX_TRY(const Proof proof, Proof::decode(file.proof, plan.shape()));
  ZKAPEX_TRY(PointSum sum, check_window(window_statement(deployment, registered, current, mask), plan, proof, pool));
  ModelCommitment next{current.registration, current.windows, unlearned_rows(plan, proof)};
  next.windows.push_back({mask.window, mask_digest});
  return CheckedWindow{std::move(next), std::move(sum)};
}

Result<ModelCommitment, Rejection> verify_window_file(const Deployment& deployment, const ClientRecord& client,
                                                      const Mask& mask, const ProofFile& file,
                                                      const Generators& generators, ThreadPool& pool) {
  ZKAPEX_TRY(CheckedWindow checked, check_window_file(deployment, client, mask, file, pool));
  ZKAPEX_CHECK(verdict_var(checked.sum, generators, pool));
  return std::move(checked.next);
}

}  // namespace zkapex
