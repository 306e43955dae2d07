#include "parties/carried_state.h"

#include "attestation/inputs.h"
#include "parties/client_window.h"

namespace zkapex {

namespace {

Bytes commitment_of(const ClientSecret& state) {
  return ModelCommitment{state.registration, state.update, state.windows, state.rows}.encode();
}

}  // namespace

Result<std::vector<Bytes>> carried_state(const ClientFolder& folder) {
  ZKAPEX_TRY(const Deployment deployment, read_deployment(folder.deployment()));
  ZKAPEX_TRY(const ClientSecret state, read_secret_header(folder.secret()));
  ZKAPEX_TRY(const Registered registered, read_registered(folder, deployment, state));
  std::vector<Bytes> out = {registered.encode(), commitment_of(state)};
  for (const AppliedWindow& applied : state.windows) {
    const Path before = folder.past(applied.mask) / "secret.zka";  // of windows with a guide
    std::error_code failed;
    if (!std::filesystem::exists(before, failed)) continue;
    ZKAPEX_TRY(const ClientSecret past, read_secret_header(before));
    out.push_back(commitment_of(past));
  }
  return out;
}

}  // namespace zkapex
