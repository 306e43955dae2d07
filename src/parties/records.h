// What verdicts rest on and lead to: the provider's own records of its clients, wherever they are kept. The ledger
// keeps them in a folder; a service in a database.
#pragma once

#include "parties/provider.h"

namespace zkapex {

class Records {
 public:
  Records() = default;
  Records(Records&&) = default;
  Records& operator=(Records&&) = default;
  virtual ~Records() = default;

  [[nodiscard]] virtual const Deployment& deployment() const = 0;
  // None where no registration of that client was admitted. An error is the provider's trouble, never a verdict.
  [[nodiscard]] virtual Result<std::optional<ClientRecord>> find(const std::string& client) const = 0;
  // False where it is known that the client's current model, or curvature, was admitted after the request was
  // published: it could have been chosen so that the request changes little.
  [[nodiscard]] virtual Result<bool> admitted_before(const ClientRecord& client, const Mask& mask) const = 0;
  // The client's windows, in order.
  [[nodiscard]] virtual Result<std::vector<KeptWindow>> windows(const ClientRecord& client) const = 0;

  // Only for a registration that was verified, of a client that is not here yet.
  [[nodiscard]] virtual Status add(const RegistrationFile& file, const Registered& registered) const = 0;
  // Moves a client on by a window that was accepted. Afterwards no other one can start where it started.
  [[nodiscard]] virtual Status advance(const std::string& client, const Mask& mask,
                                       const ModelCommitment& next) const = 0;
  // The same by an update that was verified.
  [[nodiscard]] virtual Status update(const Registered& updated, const ModelCommitment& next) const = 0;
};

}  // namespace zkapex
