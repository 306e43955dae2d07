// The provider's answer to a registration or an update: verified once, and in the records from then on.
#pragma once

#include "attestation/registration_relation.h"
#include "parties/records.h"
#include "parties/work.h"

namespace zkapex {

struct Admission {
  std::optional<Rejection> rejection;  // none: it is in the records
  std::string client;                  // as the file says; empty where that cannot be read
  Sha256::Digest registration{};
  bool known = false;  // this very registration was in the records already
  size_t registration_bytes = 0;
};

// `file`: what the client handed in. `base`: θ0, where the deployment has an anchor. One name is one client, for good:
// another registration in a name that is taken is rejected, and changes nothing for who has it.
[[nodiscard]] Result<Admission> admit(const Records& records, const BaseRows* base,
                                      const Result<Bytes, Rejection>& file, const WorkSettings& settings);

struct UpdateAdmission {
  std::optional<Rejection> rejection;                         // none: the client's model is the updated one
  std::string client;                                         // as the file says; empty where that cannot be read
  std::optional<Sha256::Digest> registration, start, update;  // none where the client, or an update, is not known
  std::optional<Sha256::Digest> next;                         // where it leads, if it is accepted now
  bool known = false;                                         // this very update was the client's last one already
  bool curvature = false;                                     // with a new one
  size_t update_bytes = 0;
};

// Registration, current model and past windows come from the records, which an accepted update moves on: no window and
// no other update can start where it started.
[[nodiscard]] Result<UpdateAdmission> admit_update(const Records& records, const BaseRows* base,
                                                   const Result<Bytes, Rejection>& file, const WorkSettings& settings);

}  // namespace zkapex
