// What a provider keeps: the registrations that it verified, and where each client's model stands. A folder of its own,
// apart from whatever clients upload, and written by nothing but this:
//   deployment.zka
//   masks/DIGEST.zka                    of every window that some client's model has behind it
//   published/DIGEST                    the number of a request, by the digest of its mask, since it was published
//   windows/NAME                        the digest of the request that was published for the window
//   clients/CLIENT/registration.zka     as it was received
//   clients/CLIENT/registered.zka       what windows are verified against
//   clients/CLIENT/updates/DIGEST.zka   the same after the last update, by which the commitment names it
//   clients/CLIENT/before/DIGEST.zka    the commitment that a guided window started from, by the digest of its mask
//   clients/CLIENT/admitted/DIGEST      how many requests were published when the update was admitted; of zeros: when
//                                       the registration was
//   clients/CLIENT/model.zka            the commitment to the current model: the entry exists once this does
#pragma once

#include "base/files.h"
#include "parties/records.h"

namespace zkapex {

class Ledger : public Records {
 public:
  // Held by one command at a time.
  [[nodiscard]] static Result<Ledger> open(const Path& folder);
  // Makes the folder if there is none. One ledger is of one deployment.
  [[nodiscard]] static Result<Ledger> open_or_create(const Path& folder, const Deployment& deployment);

  [[nodiscard]] const Deployment& deployment() const override { return deployment_; }
  [[nodiscard]] Result<std::optional<ClientRecord>> find(const std::string& client) const override;
  // True as long as the request was not published in this ledger.
  [[nodiscard]] Result<bool> admitted_before(const ClientRecord& client, const Mask& mask) const override;
  [[nodiscard]] Result<std::vector<KeptWindow>> windows(const ClientRecord& client) const override;
  // From now on, models that are admitted come too late for this request. False: it was published before. An error if
  // another was published for its window.
  [[nodiscard]] Result<bool> publish(const Mask& mask) const;
  // Windows that were accepted of anybody.
  [[nodiscard]] Result<size_t> window_count() const;

  [[nodiscard]] Status add(const RegistrationFile& file, const Registered& registered) const override;
  [[nodiscard]] Status advance(const std::string& client, const Mask& mask, const ModelCommitment& next) const override;
  [[nodiscard]] Status update(const Registered& updated, const ModelCommitment& next) const override;

 private:
  Ledger(Path folder, FolderLock lock, Deployment deployment)
      : folder_(std::move(folder)), lock_(std::move(lock)), deployment_(std::move(deployment)) {}

  [[nodiscard]] Path entry(const std::string& client) const;
  [[nodiscard]] Path mask(const Sha256::Digest& digest) const;
  [[nodiscard]] Path published(const Sha256::Digest& mask) const;
  // The window is this request's from now on.
  [[nodiscard]] Status name_window(const Mask& mask) const;
  // How many requests.
  [[nodiscard]] Result<uint64_t> published() const;
  [[nodiscard]] Status note_admission(const std::string& client, const ModelCommitment& model) const;

  Path folder_;
  FolderLock lock_;
  Deployment deployment_;
};

}  // namespace zkapex
