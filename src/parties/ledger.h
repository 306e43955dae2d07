// What a provider keeps: the registrations that it verified, and where each client's model stands. A folder of its own,
// apart from whatever clients upload, and written by nothing but this:
//   deployment.zka
//   masks/DIGEST.zka                    of every window that some client's model has behind it
//   clients/CLIENT/registration.zka     as it was received
//   clients/CLIENT/registered.zka       what windows are verified against
//   clients/CLIENT/model.zka            the commitment to the current model: the entry exists once this does
#pragma once

#include "base/files.h"
#include "parties/provider.h"

namespace zkapex {

class Ledger {
 public:
  // Held by one command at a time.
  [[nodiscard]] static Result<Ledger> open(const Path& folder);
  // Makes the folder if there is none. One ledger is of one deployment.
  [[nodiscard]] static Result<Ledger> open_or_create(const Path& folder, const Deployment& deployment);

  [[nodiscard]] const Deployment& deployment() const { return deployment_; }
  // None where no registration of that client was admitted.
  [[nodiscard]] Result<std::optional<ClientRecord>> find(const std::string& client) const;

  // Only for a registration that was verified, of a client that is not here yet.
  [[nodiscard]] Status add(const RegistrationFile& file, const Registered& registered) const;
  // Moves a client on by a window that was accepted. Afterwards no other one can start where it started.
  [[nodiscard]] Status advance(const std::string& client, const Mask& mask, const ModelCommitment& next) const;

 private:
  Ledger(Path folder, FolderLock lock, Deployment deployment)
      : folder_(std::move(folder)), lock_(std::move(lock)), deployment_(std::move(deployment)) {}

  [[nodiscard]] Path entry(const std::string& client) const;
  [[nodiscard]] Path mask(const Sha256::Digest& digest) const;

  Path folder_;
  FolderLock lock_;
  Deployment deployment_;
};

}  // namespace zkapex
