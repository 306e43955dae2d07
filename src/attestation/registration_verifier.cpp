#include "attestation/registration_verifier.h"

namespace zkapex {

RegisteredRows registered_rows(const RegistrationPlan& plan, const Proof& proof) {
  auto next = proof.rows.begin();
  const auto take = [&](size_t count) {
    const auto first = next;
    next += static_cast<ptrdiff_t>(count);
    return std::vector<EncodedPoint>(first, next);
  };
  RegisteredRows out;
  out.model = take(plan.model_rows());
  out.curvature = take(plan.curvature_rows());
  out.unchanged = take(plan.unchanged_rows());
  return out;
}

}  // namespace zkapex
