// The provider's answer to a registration: verified once, and in the ledger from then on.
#pragma once

#include "parties/ledger.h"
#include "parties/work.h"

namespace zkapex {

struct Admission {
  std::optional<Rejection> rejection;  // none: it is in the ledger
  std::string client;                  // as the file says; empty where that cannot be read
  Sha256::Digest registration{};
  bool known = false;  // this very registration was in the ledger already
  size_t registration_bytes = 0;
};

// `file`: what the client handed in. One name is one client, for good: another registration in a name that is taken is
// rejected, and changes nothing for who has it.
[[nodiscard]] Result<Admission> admit(const Ledger& ledger, const Result<Bytes, Rejection>& file,
                                      const WorkSettings& settings);

}  // namespace zkapex
