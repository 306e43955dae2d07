#include "parties/provider.h"

#include <fmt/format.h>

#include <algorithm>

#include "attestation/registration_verifier.h"
#include "attestation/window_verifier.h"
#include "base/large_blocks.h"

namespace zkapex {

namespace {

// Planned and decoded, once.
struct OpenedRegistration {
  RegistrationPlan plan;
  Proof proof;
};

Result<OpenedRegistration, Rejection> open(const Deployment& deployment, const RegistrationFile& file) {
  if (file.deployment != deployment.digest()) {
    return Rejection{Reason::kDeployment, "the registration was made for another deployment"};
  }
  Result<RegistrationPlan> plan = RegistrationPlan::make(deployment, file.cut);
  if (!plan) return Rejection{Reason::kStatement, plan.error().message};
  ZKAPEX_TRY(Proof proof, Proof::decode(file.proof, plan->shape()));
  return OpenedRegistration{*std::move(plan), std::move(proof)};
}

Registered registered_by(const RegistrationFile& file, const OpenedRegistration& opened) {
  RegisteredRows rows = registered_rows(opened.plan, opened.proof);
  const Sha256::Digest digest = file.digest();
  return {digest,
          file.client,
          std::move(rows.unchanged),
          std::move(rows.curvature),
          {.registration = digest, .update = {}, .windows = {}, .rows = std::move(rows.model)}};
}

struct PlannedWindow {
  Sha256::Digest mask;
  WindowPlan plan;
};

Result<PlannedWindow, Rejection> plan_of(const Deployment& deployment, const Mask& mask, const ProofFile& file,
                                         ThreadPool& pool) {
  if (file.deployment != deployment.digest())
    return Rejection{Reason::kDeployment, "the proof was made for another deployment"};
  if (const Status fits = mask.check_for(deployment); !fits) return Rejection{Reason::kMask, fits.error().message};
  Sha256::Digest mask_digest{};
  std::optional<Result<WindowPlan>> plan;
  pool.for_each(2, [&](size_t k) {  // both take a while where many weights are masked
    if (k == 0) mask_digest = mask.digest();
    if (k == 1) plan = WindowPlan::make(deployment, mask, file.segmentation);
  });
  if (file.mask != mask_digest || file.window != mask.window) {
    return Rejection{Reason::kMask, "the proof was made for another mask"};
  }
  if (!*plan) return Rejection{Reason::kStatement, plan->error().message};
  return PlannedWindow{mask_digest, **std::move(plan)};
}

Verdict check_record(const ClientRecord& client) {
  if (client.current.update != client.registered.model.update)
    return Rejection{Reason::kModel, "the model and the record of its last update do not belong together"};
  return Done{};
}

// A window comes once, and keeps removed what the client's last one removed.
Verdict check_history(const ClientRecord& client, const Mask& mask) {
  ZKAPEX_CHECK(check_record(client));
  const ModelCommitment& current = client.current;
  if (current.windows.empty()) {
    if (current.rows != client.registered.model.rows)
      return Rejection{Reason::kModel, "a model that no window has changed is not the registered one"};
    return Done{};
  }
  if (current.windows.size() >= kMaxWindows)
    return Rejection{Reason::kWindow, "the client has applied as many windows as a registration allows"};
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

Result<CheckedRegistration, Rejection> check_registration_file(const Deployment& deployment, const BaseRows* base,
                                                               const RegistrationFile& file, ThreadPool& pool) {
  ZKAPEX_TRY(const OpenedRegistration opened, open(deployment, file));
  ZKAPEX_TRY(PointSum sum, check_registration({&deployment, file.client, base}, opened.plan, opened.proof, pool));
  return CheckedRegistration{registered_by(file, opened), std::move(sum)};
}

Result<Registered, Rejection> verify_registration_file(const Deployment& deployment, const BaseRows* base,
                                                       const RegistrationFile& file, const Generators& generators,
                                                       ThreadPool& pool) {
  ZKAPEX_TRY(CheckedRegistration checked, check_registration_file(deployment, base, file, pool));
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
  ZKAPEX_TRY(const PlannedWindow planned, plan_of(deployment, mask, file, pool));
  const WindowPlan& plan = planned.plan;
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
  const LargeBlocksKept tables;  // which follow one another
  ZKAPEX_TRY(PointSum sum, check_window(window_statement(deployment, registered, current, mask), plan, proof, pool));
  ModelCommitment next{current.registration, current.update, current.windows, unlearned_rows(plan, proof)};
  next.windows.push_back({mask.window, planned.mask});
  return CheckedWindow{std::move(next), std::move(sum)};
}

Result<ModelCommitment, Rejection> verify_window_file(const Deployment& deployment, const ClientRecord& client,
                                                      const Mask& mask, const ProofFile& file,
                                                      const Generators& generators, ThreadPool& pool) {
  ZKAPEX_TRY(CheckedWindow checked, check_window_file(deployment, client, mask, file, pool));
  ZKAPEX_CHECK(verdict_var(checked.sum, generators, pool));
  return std::move(checked.next);
}

UpdateTerms update_terms(const ClientRecord& client, std::span<const KeptWindow> windows, bool curvature) {
  UpdateTerms out{client.registered.digest, client.current.digest(), client.current.rows, {}, curvature};
  for (const KeptWindow& window : windows) out.windows.push_back({&window.mask, window.before});
  return out;
}

Result<CheckedUpdate, Rejection> check_update_file(const Deployment& deployment, const BaseRows* base,
                                                   const ClientRecord& client, std::span<const KeptWindow> windows,
                                                   const UpdateFile& file, ThreadPool& pool) {
  const Registered& registered = client.registered;
  const ModelCommitment& current = client.current;
  if (file.deployment != deployment.digest())
    return Rejection{Reason::kDeployment, "the update was made for another deployment"};
  if (file.client != registered.client) return Rejection{Reason::kClient, "the update is of another client"};
  if (file.registration != registered.digest || current.registration != registered.digest)
    return Rejection{Reason::kRegistration, "the update or the model commitment belongs to another registration"};
  if (file.model != current.digest())
    return Rejection{Reason::kModel, "the update goes on from another model than the client's current one"};
  if (const Verdict same = check_record(client); !same) return same.error();
  const auto same = [](const KeptWindow& window, const AppliedWindow& applied) {
    return window.mask.digest() == applied.mask;
  };
  if (!std::ranges::equal(windows, current.windows, same))
    return Rejection{Reason::kMask, "the masks of the client's windows are not known"};
  const UpdateTerms terms = update_terms(client, windows, file.curvature);
  const Result<RegistrationPlan> plan = RegistrationPlan::make(deployment, file.cut, &terms);
  if (!plan) return Rejection{Reason::kStatement, plan.error().message};
  ZKAPEX_TRY(const Proof proof, Proof::decode(file.proof, plan->shape()));
  ZKAPEX_TRY(PointSum sum, check_registration({&deployment, file.client, base, &terms}, *plan, proof, pool));
  RegisteredRows rows = registered_rows(*plan, proof);
  ModelCommitment next{current.registration, file.digest(), current.windows, std::move(rows.model)};
  Registered updated{registered.digest,
                     registered.client,
                     std::move(rows.unchanged),
                     file.curvature ? std::move(rows.curvature) : registered.curvature,
                     {next.registration, next.update, {}, next.rows}};
  return CheckedUpdate{std::move(updated), std::move(next), std::move(sum)};
}

}  // namespace zkapex
