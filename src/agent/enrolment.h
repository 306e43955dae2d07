// A client's keys: the one that it enrols with, and each that replaces another. A new key is ordered by its file,
// next-key.pem, whether an agent is at work or not; once the provider has signed the statement that both keys sign, it
// becomes key.pem.
#pragma once

#include "agent/config.h"
#include "agent/provider_link.h"

namespace zkapex {

// The statement as the provider has signed it, too, or its refusal.
struct KeyAnswer {
  Envelope statement = {};
  std::optional<Problem> refused = std::nullopt;
};
// Has the provider sign the statement, which it may have done before: the same again is the same. The code is for the
// first key.
[[nodiscard]] Result<KeyAnswer> enrol_key(ProviderLink& link, const std::string& code, const Envelope& statement,
                                          const PublicKey& provider);

// Makes the next key, unless there is one already.
[[nodiscard]] Status order_new_key(const AgentFolder& folder);

struct KeyReplacement {
  bool done = false;  // `agent` has the new key
  std::optional<Problem> refused = std::nullopt;
};
// Does what was ordered, or finishes it. A refusal leaves the old key in use; after an error the provider may have
// either.
[[nodiscard]] Result<KeyReplacement> replace_key(const AgentFolder& folder, AgentIdentity& agent, ProviderLink& link,
                                                 const std::function<void()>& between_changes);

}  // namespace zkapex
