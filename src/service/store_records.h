// The records of parties/records.h in the provider's database. Reads what is there now; changes are kept until the
// worker writes them, with the verdicts that they follow from, in one transaction.
#pragma once

#include <map>

#include "parties/records.h"
#include "service/blobs.h"
#include "service/store.h"

namespace zkapex {

class StoreRecords : public Records {
 public:
  // Where a client's model stood when it was looked for.
  struct Standing {
    uint64_t version = 0;
    BlobName record;
  };
  // Where it goes.
  struct Change {
    ModelCommitment next;
    std::optional<Registered> record;  // none: the one before
  };

  // For one batch. All of them outlive it.
  StoreRecords(Store& store, Blobs& blobs, const Deployment& deployment)
      : store_(store), blobs_(blobs), deployment_(deployment) {}

  // What find() will be asked for, looked up together.
  [[nodiscard]] Status look_up(std::span<const std::string> clients);

  [[nodiscard]] const Deployment& deployment() const override { return deployment_; }
  [[nodiscard]] Result<std::optional<ClientRecord>> find(const std::string& client) const override;
  // The store takes submissions only of clients that were registered before the window, and no updates while it waits.
  [[nodiscard]] Result<bool> admitted_before(const ClientRecord&, const Mask&) const override { return true; }
  [[nodiscard]] Result<std::vector<KeptWindow>> windows(const ClientRecord& client) const override;
  [[nodiscard]] Status add(const RegistrationFile& file, const Registered& registered) const override;
  [[nodiscard]] Status advance(const std::string& client, const Mask& mask, const ModelCommitment& next) const override;
  [[nodiscard]] Status update(const Registered& updated, const ModelCommitment& next) const override;

  // None of a client without an accepted registration.
  [[nodiscard]] Result<std::optional<Standing>> standing(const std::string& client) const;
  // None where nothing changes.
  [[nodiscard]] const Change* change(const std::string& client) const;
  // A window's mask, by its name; another digest than the expected one is an error.
  [[nodiscard]] Result<Mask> mask(const std::string& window, const Digest& digest) const;

 private:
  template <class File>
  [[nodiscard]] Result<File> read(const BlobName& name) const;

  Store& store_;
  Blobs& blobs_;
  const Deployment& deployment_;
  std::map<std::string, std::optional<ClientInfo>> looked_up_;
  mutable std::map<std::string, Standing> standings_;
  mutable std::map<std::string, Change> changes_;
  mutable std::map<Digest, Mask> masks_;
};

}  // namespace zkapex
